import { Ajv2020, type Options } from "ajv/dist/2020.js";

/**
 * An Ajv for schemas that are part of the program. They are not checked against the meta-schema, because compiling it would take
 * longer than the rest of a start; a test checks them (own-schemas.test.ts).
 */
export function ajvForOwnSchemas(options: Options = {}): Ajv2020 {
  return new Ajv2020({ ...options, validateSchema: false });
}
