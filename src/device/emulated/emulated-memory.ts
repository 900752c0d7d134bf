/**
 * Memory of one emulated device, as one holder sees it.
 *
 * Implements DeviceMemory over a window. It knows nothing of blocks and leases, and does not know
 * how the window gets its bytes.
 *
 * Invariant: what the allocator gives out is cleared first, so that no allocation shows what its
 * forerunner wrote.
 */

import { assert } from "../../base/index.ts";
import type { DeviceMemory, MemoryAccess, MemoryShare } from "../ports.ts";
import { PageAllocator } from "./page-allocator.ts";
import { PAGE_BYTES, type Window } from "./window.ts";

export class EmulatedMemory implements DeviceMemory {
  readonly pageBytes = PAGE_BYTES;
  readonly capacityBytes: number;
  readonly baseAddress: number;
  readonly window: Window;
  readonly #place: number;
  readonly #pages: PageAllocator;
  #isOpen = true;

  /**
   * @param place whose memory it is
   * @param isCreator whether this holder gives the memory out
   */
  constructor(window: Window, place: number, isCreator: boolean) {
    const capacityBytes = window.layout.capacityBytes[place];
    assert(capacityBytes !== undefined, `there is no place ${place}`);
    this.window = window;
    this.#place = place;
    this.capacityBytes = capacityBytes;
    this.baseAddress = window.layout.bases[place]!;
    this.#pages = new PageAllocator(isCreator ? capacityBytes : 0);
  }

  get freeBytes(): number {
    return this.#pages.freeBytes;
  }

  allocate(bytes: number): number | null {
    this.#assertOpen();
    const offset = this.#pages.allocate(bytes);
    if (offset === null) return null;
    const address = this.baseAddress + offset;
    this.clear(address, bytes);
    return address;
  }

  free(address: number): void {
    this.#assertOpen();
    this.#pages.free(address - this.baseAddress);
  }

  write(address: number, bytes: Uint8Array): void {
    this.#assertOwn(address, bytes.byteLength);
    this.window.bytes.set(bytes, address);
  }

  read(address: number, target: Uint8Array): void {
    this.#assertOpen();
    const end = address + target.byteLength;
    assert(address >= 0 && end <= this.window.layout.endBytes, `no memory at ${address}..${end}`);
    target.set(this.window.bytes.subarray(address, end));
  }

  clear(address: number, bytes: number): void {
    this.#assertOwn(address, bytes);
    this.window.bytes.fill(0, address, address + bytes);
  }

  share(): MemoryShare {
    this.#assertOpen();
    return this.window.share(this.#place);
  }

  attach(share: MemoryShare, access: MemoryAccess): number {
    this.#assertOpen();
    const { bases, capacityBytes } = this.window.layout;
    const isSame = capacityBytes[share.device] === share.capacityBytes;
    assert(isSame, `place ${share.device} has no ${share.capacityBytes} B in this window`);
    assert(share.device !== this.#place, `device ${share.device} is attached to itself`);
    this.window.attach(share, access);
    return bases[share.device]!;
  }

  detach(address: number): void {
    this.#assertOpen();
    const place = this.window.layout.bases.indexOf(address);
    assert(place !== -1 && place !== this.#place, `nothing is attached at ${address}`);
    this.window.detach(place);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.window.close();
  }

  /** Asserts the invariants. */
  check(): void {
    this.#pages.check();
  }

  #assertOpen(): void {
    assert(this.#isOpen, `memory of place ${this.#place} is used after close`);
  }

  #assertOwn(address: number, bytes: number): void {
    this.#assertOpen();
    const offset = address - this.baseAddress;
    const isInside = offset >= 0 && bytes >= 0 && offset + bytes <= this.capacityBytes;
    assert(isInside, `${bytes} B at ${address} are not in place ${this.#place}`);
  }
}
