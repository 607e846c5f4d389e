import { Ajv2020, type Options } from "ajv/dist/2020.js";

/**
 * An Ajv for schemas that are part of the program. They are not compared with the schema of schemas, as compiling that
 * costs each start more than all else that a start does; a test compares them (own-schemas.test.ts).
 */
export function ajvForOwnSchemas(options: Options = {}): Ajv2020 {
  return new Ajv2020({ ...options, validateSchema: false });
}
