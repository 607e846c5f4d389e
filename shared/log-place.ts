/** Where a log is that several machines share. */
export interface LogPlace {
  readonly name: string;
  readonly servers: readonly string[];
  /** The name of this machine in it. */
  readonly machine: string;
  /** How many servers store each entry; undefined if none of them answers. */
  readonly replicas?: number | undefined;
}
