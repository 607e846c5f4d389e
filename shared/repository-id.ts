const repositoryId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Windows reserves these names for devices, with any extension. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;

/** A document whose id begins like this is the local layer of a repository: no repository can have such an id. */
const localPrefix = "_local-";

/** The id of the document with the values of one's own for a repository, in the log and for its history. */
export function localDocumentOf(repo: string): string {
  return localPrefix + repo;
}

/**
 * The documents whose values can count before a repository's own ones, the lowest first: of a linked worktree, the local ones of the
 * repository that it belongs to, then its own.
 */
export function documentsAbove(repo: string, base: string | undefined): readonly string[] {
  return [...(base === undefined ? [] : [localDocumentOf(base)]), localDocumentOf(repo)];
}

/** The repository that a document belongs to: for one of a layer, the one that it is the layer of. */
export function repositoryOfDocument(id: string): string {
  return id.startsWith(localPrefix) ? id.slice(localPrefix.length) : id;
}

/** Whether the id is valid: it must work as a file name on every system and not lead out of its folder. */
export function isRepositoryId(id: string): boolean {
  return repositoryId.test(id) && !deviceName.test(id);
}
