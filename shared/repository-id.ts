const repositoryId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Windows takes these for devices, whatever ending follows. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;

/** Whether a repository may have this id: it becomes a file's name on every system, and stays in its folder. */
export function isRepositoryId(id: string): boolean {
  return repositoryId.test(id) && !deviceName.test(id);
}
