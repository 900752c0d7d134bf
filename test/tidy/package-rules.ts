/**
 * Rules on what a fresh clone installs: a lock file that is complete and names no registry.
 *
 * Called by the tidy tests. `npm ci` refuses a lock file that lacks a package which another one
 * asks for, optional ones included; that shows only in a clone without node_modules, so it is
 * looked for here, where nothing is installed or asked.
 */

/** The part of package-lock.json (version 3) that is read. */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** @returns what would make `npm ci` fail, or work on one network only. */
export function checkLockFile(lock: LockFile): string[] {
  const findings: string[] = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    const wanted = {
      ...entry.dependencies,
      ...entry.optionalDependencies,
      ...(path === "" ? entry.devDependencies : {}),
    };
    for (const name of Object.keys(wanted)) {
      if (isLocked(lock, path, name)) continue;
      const who = path || "the project";
      findings.push(`package-lock.json: ${who} wants ${name}, which is not locked`);
    }
    if (entry.resolved !== undefined && entry.link !== true) {
      findings.push(`package-lock.json: ${path} names a registry`);
    }
  }
  return findings;
}

/** Looks where Node would: beside the package's own modules, then one folder up, and so on. */
function isLocked(lock: LockFile, path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, folder.lastIndexOf("node_modules/"))) {
    const base = folder === "" || folder.endsWith("/") ? folder : `${folder}/`;
    if (lock.packages[`${base}node_modules/${name}`] !== undefined) return true;
    if (folder === "" || !folder.includes("node_modules/")) return false;
  }
}
