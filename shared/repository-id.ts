const repositoryId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Windows reserves these names for devices, with any extension. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;

/** Whether the id is valid: it must work as a file name on every system and not lead out of its folder. */
export function isRepositoryId(id: string): boolean {
  return repositoryId.test(id) && !deviceName.test(id);
}
