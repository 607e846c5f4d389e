/** The limits of docs/protocol.md, "Limits". A request that exceeds one gets 1107 with the limit and its number. */
export const limits = {
  /** Bytes of one transport packet; Socket.IO closes the connection if one is larger. */
  transportBytes: 4_000_000,
  /** Packets of one payload that the daemon sends over polling. */
  packetsPerPayload: 16,
  /** Bytes of one message's arguments as JSON. */
  messageBytes: 1_000_000,
  /** Levels of objects and arrays in a message's arguments, counting the arguments themselves. */
  messageNesting: 32,
  fieldsPerSet: 256,
  /** Edits inside values in one set. */
  editsPerSet: 32,
  repositoriesPerSet: 1_000,
  /** Repositories of a set, multiplied by its message's bytes. */
  setWorkBytes: 16_000_000,
  /** Repositories of a set, multiplied by its fields. */
  setWorkFields: 10_000,
  /** Bytes of one value as JSON. */
  valueBytes: 256 * 1024,
  /** Characters of a path in arguments. */
  pathLength: 4_096,
  repositoryFileBytes: 4 * 1024 * 1024,
  /** How large keys other than the owner's may make it: room for a few of the largest values is left. */
  repositoryFileBytesOfKey: 3 * 1024 * 1024,
  /** Bytes of a scope's file. */
  scopeBytes: 4_000_000,
  /** Different patterns in one scope's schema. */
  patternsOfScope: 1_000,
  /** Schemas in one work tree. */
  scopesOfWorkTree: 32,
  /** Problems of one file that are reported individually. */
  problemsOfFile: 100,
  /** Characters of a name in messages. Valid names of scopes and fields are shorter. */
  shownName: 200,
  /** Characters of each part of a path inside a value, in messages. */
  shownPart: 80,
  /** Characters of a message that quotes a schema or a value. */
  shownMessage: 500,
  /** Clients with a key on the port, and as many again on the Unix socket. */
  sockets: 1_000,
  /** Operating system connections for each address, likewise, including those without a key and those of polling clients. */
  openConnections: 2_000,
  /** This many of `sockets` are reserved for the owner's key and sessions. */
  socketsKeptForOwner: 100,
  /** The following limits apply to each key except the owner's. */
  socketsPerKey: 64,
  /** Requests of one key that run at once; further ones wait. */
  requestsPerKey: 128,
  /**
   * Waiting requests of one key; further ones are refused. From half of this on, the key's connections are paused for a while.
   */
  waitingRequestsPerKey: 1_000,
  /** Bytes of arguments of one key's running and waiting requests; likewise paused from half of it on. */
  requestBytesPerKey: 16_000_000,
  /** Bytes queued for all clients of one key that do not read; beyond it the clients with the most are disconnected. */
  waitingBytesPerKey: 64 * 1024 * 1024,
  /** Proposals of one key, and their bytes as JSON. */
  proposalsPerKey: 100,
  proposalBytesPerKey: 1_000_000,
  /** Drafts stored for the owner. */
  drafts: 10_000,
  /** Bytes of all drafts as JSON. */
  draftBytes: 4_000_000,
  /** Entries of one page of a long list. */
  pageLength: 1_000,
  /** Bytes of a page's entries as JSON; the entry that reaches the limit ends the page. */
  pageBytes: 1_000_000,
  /** Different words of a search. */
  searchWords: 20,
  /** Characters of one word of a search. */
  searchWordLength: 256,
  /** Bytes of events queued for a client that does not read; beyond it the client is disconnected. */
  waitingEventBytes: 16 * 1024 * 1024,
} as const;
