/** The bounds of docs/protocol.md, "Limits". A request beyond one is answered with 1107, which names the limit and its number. */
export const limits = {
  /** Bytes of one transport packet; beyond it Socket.IO ends that connection. */
  transportBytes: 4_000_000,
  /** Bytes of one message's arguments as JSON. */
  messageBytes: 1_000_000,
  /** Levels of objects and arrays in a message's arguments, the arguments themselves being the first. */
  messageNesting: 32,
  fieldsPerSet: 256,
  repositoriesPerSet: 1_000,
  /** Repositories of a set times its message's bytes. */
  setWorkBytes: 16_000_000,
  /** Repositories of a set times its fields. */
  setWorkFields: 10_000,
  /** Bytes of one value as JSON. */
  valueBytes: 256 * 1024,
  repositoryFileBytes: 4 * 1024 * 1024,
  sockets: 1_000,
  /** Entries of one page of a long list. */
  pageLength: 1_000,
  /** Bytes of events that may wait for a client which does not read; beyond it the client is disconnected. */
  waitingEventBytes: 16 * 1024 * 1024,
} as const;
