/**
 * The few calls of Linux that give memory which other processes can map.
 *
 * Called by the mapped window. It knows addresses and file descriptors, and no device.
 *
 * A memfd is a file without a name that lives in RAM: it goes when the last descriptor and the last
 * mapping of it have gone, however their processes ended (man 2 memfd_create). It is sealed against
 * changes of its size, so that nobody can make another's loads fail by cutting it. Its pages are
 * made and cleared at creation: the first touch of a page is many times slower than all later ones.
 * Mapping what has been touched is cheap, and is left to happen as it is used.
 */

import { createRequire } from "node:module";
import { closeSync, ftruncateSync } from "node:fs";
import type * as KoffiModule from "koffi";
import { EmaError, formatBytes } from "../../base/index.ts";
import type { MemoryAccess } from "../ports.ts";

/** From Linux's headers: the same numbers on x86-64 and arm64. */
const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
const F_SEAL_SEAL = 1;
const F_SEAL_SHRINK = 2;
const F_SEAL_GROW = 4;
const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_SHARED = 0x1;
const MAP_PRIVATE = 0x2;
const MAP_FIXED = 0x10;
const MAP_ANONYMOUS = 0x20;
const MAP_NORESERVE = 0x4000;
const MAP_POPULATE = 0x8000;

/** What is called; addresses fit a number, for user space ends below 2^53. */
interface LibC {
  memfdCreate(name: string, flags: number): number;
  fallocate(fd: number, mode: number, offset: number, bytes: number): number;
  fcntl(fd: number, command: number, type: "int", value: number): number;
  mmap(
    address: number,
    bytes: number,
    protection: number,
    flags: number,
    fd: number,
    offset: number,
  ): number;
}

type Koffi = typeof KoffiModule;

export class LinuxMemory {
  readonly #koffi: Koffi;
  readonly #libc: LibC;

  private constructor(koffi: Koffi, libc: LibC) {
    this.#koffi = koffi;
    this.#libc = libc;
  }

  /** @returns `null` on another system, or where the FFI has no build for this machine. */
  static open(): LinuxMemory | null {
    if (process.platform !== "linux") return null;
    try {
      const koffi = createRequire(import.meta.url)("koffi") as Koffi;
      const c = koffi.load(null);
      return new LinuxMemory(koffi, {
        memfdCreate: c.func("int memfd_create(const char *name, unsigned int flags)"),
        fallocate: c.func("int fallocate(int fd, int mode, int64_t offset, int64_t bytes)"),
        fcntl: c.func("int fcntl(int fd, int command, ...)"),
        mmap: c.func(
          "intptr_t mmap(uintptr_t at, size_t bytes, int prot, int flags, int fd, int64_t offset)",
        ),
      });
    } catch {
      // No build for this machine, or a C library without memfd_create: a miss, not a fault.
      return null;
    }
  }

  /**
   * @returns a descriptor of cleared memory that is there to the last page.
   * @throws EmaError E_DEVICE when the machine has not that much
   */
  createMemory(name: string, bytes: number): number {
    const fd = this.#libc.memfdCreate(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) throw this.#fault(`cannot create memory for ${name}`);
    try {
      ftruncateSync(fd, bytes);
      if (this.#libc.fallocate(fd, 0, 0, bytes) !== 0) {
        throw this.#fault(`the machine has no ${formatBytes(bytes)} for ${name}`);
      }
      const seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
      if (this.#libc.fcntl(fd, F_ADD_SEALS, "int", seals) !== 0) {
        throw this.#fault(`cannot seal the memory of ${name}`);
      }
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** @returns where a buffer's bytes are in this process. */
  addressOf(buffer: SharedArrayBuffer): number {
    return Number(this.#koffi.address(new Uint8Array(buffer)));
  }

  /** @returns the address of a range that nothing else will use; touching it is a fault. */
  reserve(bytes: number): number {
    const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    return this.#map(0, bytes, PROT_READ | PROT_WRITE, flags, -1);
  }

  /**
   * Puts a descriptor's bytes at an address that the caller holds.
   * @param isFirst whether nobody has touched them yet: then every page is, now
   */
  mapDescriptor(
    address: number,
    bytes: number,
    fd: number,
    access: MemoryAccess,
    isFirst: boolean,
  ): void {
    const protection = access === "read" ? PROT_READ : PROT_READ | PROT_WRITE;
    const flags = MAP_SHARED | MAP_FIXED | (isFirst ? MAP_POPULATE : 0);
    this.#map(address, bytes, protection, flags, fd);
  }

  /** Puts fresh zeros there: what was mapped is let go, and a stray view meets no hole. */
  mapNothing(address: number, bytes: number): void {
    const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    this.#map(address, bytes, PROT_READ | PROT_WRITE, flags, -1);
  }

  /** A view that must not outlive the reservation. */
  view(address: number, bytes: number): ArrayBuffer {
    return this.#koffi.view(address, bytes);
  }

  #map(address: number, bytes: number, protection: number, flags: number, fd: number): number {
    const at = this.#libc.mmap(address, bytes, protection, flags, fd, 0);
    if (at === -1) throw this.#fault(`cannot map ${formatBytes(bytes)}`);
    return at;
  }

  #fault(text: string): EmaError {
    return new EmaError("E_DEVICE", `${text} (errno ${this.#koffi.errno()})`);
  }
}
