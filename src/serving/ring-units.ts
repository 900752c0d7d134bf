/**
 * Which unit of the ring's halves each staged slot of a step has.
 *
 * Kept by Staging. A slot that was staged by the step before keeps its unit, so that what was
 * fetched ahead for it lies where the next step looks; others take what is free, lowest first.
 *
 * Invariant: a unit has one slot and a slot one unit.
 */

/** One slot that a step stages. */
export interface StagedBlock {
  readonly handle: number;
  /** Of its slice, when it was asked for. */
  readonly epoch: number;
  /** Where it is read from. */
  readonly place: number;
}

export class RingUnits {
  #blocks: (StagedBlock | undefined)[] = [];
  readonly #unitOf = new Map<number, number>();

  /** Slots that have a unit. */
  get count(): number {
    return this.#unitOf.size;
  }

  /** There are so many units from now on, all of them free. */
  resize(unitCount: number): void {
    this.#blocks = new Array<undefined>(unitCount).fill(undefined);
    this.#unitOf.clear();
  }

  /** @returns how many found no unit: they are read in place. */
  assign(blocks: readonly StagedBlock[]): number {
    const before = this.#blocks;
    const kept = new Map<number, number>();
    for (const { handle } of blocks) {
      const unit = this.#unitOf.get(handle);
      if (unit !== undefined) kept.set(handle, unit);
    }
    this.#blocks = new Array<undefined>(before.length).fill(undefined);
    this.#unitOf.clear();
    for (const block of blocks) {
      const unit = kept.get(block.handle);
      if (unit !== undefined) this.#set(unit, block);
    }
    let free = 0;
    let missing = 0;
    for (const block of blocks) {
      if (this.#unitOf.has(block.handle)) continue;
      while (free < this.#blocks.length && this.#blocks[free] !== undefined) free++;
      if (free < this.#blocks.length) this.#set(free, block);
      else missing++;
    }
    return missing;
  }

  unitOf(handle: number): number {
    return this.#unitOf.get(handle) ?? -1;
  }

  blockAt(unit: number): StagedBlock | undefined {
    return this.#blocks[unit];
  }

  forEach(visit: (block: StagedBlock, unit: number) => void): void {
    this.#blocks.forEach((block, unit) => {
      if (block !== undefined) visit(block, unit);
    });
  }

  #set(unit: number, block: StagedBlock): void {
    this.#blocks[unit] = block;
    this.#unitOf.set(block.handle, unit);
  }
}
