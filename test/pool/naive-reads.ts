/**
 * What borrowers find at a lender beside others who read there, worked out anew at each question.
 *
 * Oracle of pool-model.test.ts; integers, so that sums are exact.
 */

export class NaiveReads {
  readonly #paths: readonly (readonly number[])[];
  /** By "lender-borrower". */
  readonly #reads = new Map<string, number>();

  /** @param paths [lender][borrower] */
  constructor(paths: readonly (readonly number[])[]) {
    this.#paths = paths;
  }

  report(lender: number, borrower: number, bytesPerSecond: number): void {
    this.#reads.set(`${lender}-${borrower}`, bytesPerSecond);
  }

  readable(lender: number, borrower: number): number {
    const paths = this.#paths[lender]!;
    const port = Math.max(...paths.filter((_, reader) => reader !== lender));
    const others = paths.map((_, reader) =>
      reader === borrower ? 0 : this.#reads.get(`${lender}-${reader}`) ?? 0,
    );
    const eighths = Math.round(others.reduce((sum, rate) => sum + rate, 0) / (port / 8));
    return Math.min(paths[borrower]!, Math.max(port / 2, port - (eighths * port) / 8));
  }
}
