/**
 * Accounts by their definition: every settlement is kept in a list and summed anew.
 *
 * Oracle of accounts.test.ts and of the pool's model. It shares no code with src/pool/accounts.ts.
 */

const SECOND_NS = 1e9;

interface Settlement {
  readonly timeNs: number;
  readonly earned: number;
  readonly produced: number;
}

interface Account {
  settlements: Settlement[];
  blockedUntilNs: number;
  nextBackOffNs: number;
  goodSinceNs: number;
}

export class NaiveAccounts {
  readonly #accounts = new Map<string, Account>();
  readonly #windowNs: number;

  constructor(windowNs: number) {
    this.#windowNs = windowNs;
  }

  isBlocked(pair: string, nowNs: number): boolean {
    return nowNs < this.#account(pair).blockedUntilNs;
  }

  settle(pair: string, earned: number, produced: number, nowNs: number): void {
    const account = this.#account(pair);
    account.settlements.push({ timeNs: nowNs, earned, produced });
    if (nowNs < account.blockedUntilNs) return;
    const balance = this.#sum(account, nowNs, (settlement) => settlement.earned);
    const made = this.#sum(account, nowNs, (settlement) => settlement.produced);
    if (balance < -0.01 * made) {
      account.settlements = [];
      account.blockedUntilNs = nowNs + account.nextBackOffNs;
      account.goodSinceNs = account.blockedUntilNs;
      account.nextBackOffNs = Math.min(64 * SECOND_NS, account.nextBackOffNs * 2);
    } else if (nowNs - account.goodSinceNs >= this.#windowNs) {
      account.goodSinceNs = nowNs;
      account.nextBackOffNs = Math.max(SECOND_NS, account.nextBackOffNs / 2);
    }
  }

  #account(pair: string): Account {
    let account = this.#accounts.get(pair);
    if (account === undefined) {
      account = { settlements: [], blockedUntilNs: 0, nextBackOffNs: SECOND_NS, goodSinceNs: 0 };
      this.#accounts.set(pair, account);
    }
    return account;
  }

  /** All of the current period, and of the one before it the share that the window covers. */
  #sum(account: Account, nowNs: number, of: (settlement: Settlement) => number): number {
    const period = Math.floor(nowNs / this.#windowNs);
    const covered = 1 - (nowNs / this.#windowNs - period);
    const inPeriod = (wanted: number): number =>
      account.settlements
        .filter((settlement) => Math.floor(settlement.timeNs / this.#windowNs) === wanted)
        .reduce((sum, settlement) => sum + of(settlement), 0);
    return inPeriod(period) + covered * inPeriod(period - 1);
  }
}
