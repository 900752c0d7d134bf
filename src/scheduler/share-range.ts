/**
 * Which growth shares would have decided everything that was decided so far in the same way.
 *
 * Kept by Claims, which notes each comparison that a growth share enters, as does who borrows ahead
 * of requests; read by the simulator, so that a run whose setting never mattered is not repeated
 * with another one.
 *
 *     0 ----- rejects ----- above ======= same decisions ======= upTo ----- admits ----- 1
 *
 * Invariant: the share that decided lies within, until an amount followed from it.
 */

/** A little is taken off both ends: bounds are quotients, decisions are sums. */
const ROUNDING = 1e-9;

/** Starts with all shares: nothing was decided. */
export class ShareRange {
  above = -Infinity;
  upTo = Infinity;

  /**
   * It was decided whether `share` of `growth` fits in `room`.
   * @param room negative where no share of anything would have fitted.
   */
  note(share: number, growth: number, room: number): void {
    if (room < 0 || growth <= 0 || this.above === this.upTo) return;
    const bound = room / growth;
    if (share * growth <= room) this.upTo = Math.min(this.upTo, bound * (1 - ROUNDING));
    else this.above = Math.max(this.above, bound * (1 + ROUNDING));
  }

  /** An amount followed from the share: no other gives the same one. */
  noteAmount(share: number): void {
    this.above = share;
    this.upTo = share;
  }
}
