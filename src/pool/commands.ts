/**
 * The pool's whole vocabulary: what engines may ask (commands) and what they are told (events).
 *
 * Spoken in process by arenas, over the wire by the broker, and kept in the log; so it is a closed
 * union of plain data. Slices are server-wide ids; the pool does not know what is stored in them.
 *
 * The life of a slice:
 *
 *            offer               grant                recall
 *    OWN ----------> IDLE ----------------> LENT ---------------> LENT (recalled)
 *     ^ <----------    |  (epoch as it was)   |                      |
 *     |   withdraw     |                      | return               | return
 *     +----------------+----------------------+----------------------+
 *                         the owner bumps the epoch BEFORE it reuses the slice
 *
 * OWN: the owner's arena uses it, or keeps it as headroom. IDLE: offered, used by nobody. LENT: one
 * borrower may use it under (slice, epoch).
 */

import type { EngineId, LeaseId, SliceId } from "../base/index.ts";

/** REFILL keeps the lender's headroom full, nobody waits; DEMAND has an allocation waiting. */
export type RecallKind = "refill" | "demand";

/** Why no slices were granted. The last two are the borrower's own choice, before it asks. */
export type RefusalReason =
  | "no-idle-memory"
  | "limit"
  | "account"
  | "role"
  | "link"
  | "lender-share"
  | "does-not-pay"
  | "slo";

export type PoolCommand =
  /** The owner stops using these slices and lets others borrow them. */
  | {
      readonly type: "OfferSlices";
      readonly engine: EngineId;
      readonly slices: readonly SliceId[];
    }
  /** The owner takes back up to `count` of its IDLE slices; answered at once by SlicesWithdrawn. */
  | { readonly type: "WithdrawSlices"; readonly engine: EngineId; readonly count: number }
  /**
   * A borrower asks; answered at once by one LeaseGranted a lender, and one LeaseDenied for what
   * was not granted. It may hold no offer and no loan of its own: role.
   * `allowRunning`: slices of lenders that run steps (read at lenderShare only) are welcome too.
   */
  | {
      readonly type: "RequestSlices";
      readonly engine: EngineId;
      readonly count: number;
      readonly allowRunning: boolean;
    }
  /** A borrower has stopped reading these slices; they go back to their owners, also unasked. */
  | {
      readonly type: "ReturnSlices";
      readonly engine: EngineId;
      readonly slices: readonly SliceId[];
    }
  /**
   * A lender asks for slices back, at most all that are not under recall yet; spread over its
   * leases, the borrowers choose which. A demand beyond that upgrades what is under refill recall.
   */
  | {
      readonly type: "RecallSlices";
      readonly engine: EngineId;
      readonly count: number;
      readonly kind: RecallKind;
    }
  /** An engine's steps begin or end: its borrowers read it at lenderShare or at full speed. */
  | { readonly type: "SetActivity"; readonly engine: EngineId; readonly isRunning: boolean }
  /** What loans from `lender` earned this borrower (tokens), less what their recalls cost it. */
  | {
      readonly type: "SettleAccount";
      readonly engine: EngineId;
      readonly lender: EngineId;
      readonly earnedTokens: number;
      /** Tokens the borrower made in the same period: what the -1 % is of. */
      readonly producedTokens: number;
    }
  /** How fast this borrower's steps read `lender` of late; forgotten with its last slice. */
  | {
      readonly type: "ReportReads";
      readonly engine: EngineId;
      readonly lender: EngineId;
      readonly bytesPerSecond: number;
    }
  | { readonly type: "SetBorrowLimit"; readonly engine: EngineId; readonly sliceCount: number }
  /** The engine is gone: what it lent is lost to its borrowers, what it borrowed goes home. */
  | { readonly type: "RemoveEngine"; readonly engine: EngineId };

export type PoolEvent =
  | { readonly type: "SlicesWithdrawn"; readonly slices: readonly SliceId[] }
  | {
      readonly type: "LeaseGranted";
      readonly lease: LeaseId;
      readonly lender: EngineId;
      readonly slices: readonly SliceId[];
      /** Parallel to `slices`: the epoch under which each may be read. */
      readonly epochs: readonly number[];
    }
  /** `count` slices of the request were not granted. */
  | { readonly type: "LeaseDenied"; readonly reason: RefusalReason; readonly count: number }
  /**
   * To the borrower: give back `count` slices of this lease, or of others of this lender, cheapest
   * first, by the deadline. Counts add up, but never beyond what is held: a demand for slices that
   * are under refill recall already makes them urgent, not more.
   */
  | {
      readonly type: "RecallRequested";
      readonly lease: LeaseId;
      readonly lender: EngineId;
      readonly count: number;
      readonly kind: RecallKind;
      readonly deadlineNs: number;
    }
  /** To the lender: these are yours again (state OWN, epoch bumped). */
  | { readonly type: "SlicesReturned"; readonly slices: readonly SliceId[] }
  /** To borrowers of that lender. */
  | { readonly type: "LenderActivity"; readonly lender: EngineId; readonly isRunning: boolean }
  /** To borrowers: the lender is gone and with it the bytes of these slices. */
  | { readonly type: "LeaseLost"; readonly lender: EngineId; readonly slices: readonly SliceId[] };
