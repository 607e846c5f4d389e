/** The bounds of docs/protocol.md, "Limits". A request beyond one is answered with 1107, which names the limit and its number. */
export const limits = {
  /** Bytes of one transport packet; beyond it Socket.IO ends that connection. */
  transportBytes: 4_000_000,
  /** Bytes of one message's arguments as JSON. */
  messageBytes: 1_000_000,
  /** Levels of objects and arrays in a message's arguments, the arguments themselves being the first. */
  messageNesting: 32,
  fieldsPerSet: 256,
  /** Changes inside values. */
  editsPerSet: 32,
  repositoriesPerSet: 1_000,
  /** Repositories of a set times its message's bytes. */
  setWorkBytes: 16_000_000,
  /** Repositories of a set times its fields. */
  setWorkFields: 10_000,
  /** Bytes of one value as JSON. */
  valueBytes: 256 * 1024,
  repositoryFileBytes: 4 * 1024 * 1024,
  /** Bytes of a scope's file. */
  scopeBytes: 4_000_000,
  /** Different patterns in one scope's schema. */
  patternsOfScope: 1_000,
  /** Schemas in one work tree. */
  scopesOfWorkTree: 32,
  /** Problems of one file that are reported one by one. */
  problemsOfFile: 100,
  /** Characters of a name in messages. Valid names of scopes and fields are shorter. */
  shownName: 200,
  /** Characters of each part of a path inside a value, in messages. */
  shownPart: 80,
  /** Characters of a message that quotes a schema or a value. */
  shownMessage: 500,
  /** Clients with a key, by the port and as many more by the Unix socket. */
  sockets: 1_000,
  /** Connections of the operating system likewise, for each address: also those without a key, and those of clients that poll. */
  openConnections: 2_000,
  /** This many of `sockets` are reserved for the owner's key and sessions. */
  socketsKeptForOwner: 100,
  /** The following limits apply to each key except the owner's. */
  socketsPerKey: 64,
  /** Requests of one key that run at once; more of them wait. */
  requestsPerKey: 128,
  /** Requests of one key that wait; beyond it they are refused, and from half of it on its connections are not read for a while. */
  waitingRequestsPerKey: 1_000,
  /** Bytes of arguments of one key that run or wait; from half of it on likewise. */
  requestBytesPerKey: 16_000_000,
  /** Bytes that may wait for all clients of one key which do not read; beyond it those that have the most are disconnected. */
  waitingBytesPerKey: 64 * 1024 * 1024,
  /** Drafts that are kept for the owner. */
  drafts: 10_000,
  /** Bytes of all of them as JSON. */
  draftBytes: 4_000_000,
  /** Entries of one page of a long list. */
  pageLength: 1_000,
  /** Bytes of a page's entries as JSON; the entry that reaches it is the last one. */
  pageBytes: 1_000_000,
  /** Different words of a search. */
  searchWords: 20,
  /** Characters of one of them. */
  searchWordLength: 256,
  /** Bytes of events that may wait for a client which does not read; beyond it the client is disconnected. */
  waitingEventBytes: 16 * 1024 * 1024,
} as const;
