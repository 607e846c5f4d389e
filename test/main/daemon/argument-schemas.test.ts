import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { argumentSchemas, grantsSchema } from "../../../main/daemon/socket/argument-schemas.ts";
import { settingsSchema } from "../../../main/home/settings.ts";
import { svcSchema } from "../../../shared/scopes/svc.ts";

// The daemon skips this check at startup, as these schemas are part of the program (dispatch.ts).
const schemas = {
  "of the settings": settingsSchema,
  "of grants": grantsSchema,
  "of svc": svcSchema,
  ...argumentSchemas,
};

test.each(Object.entries(schemas))("the schema %s is a valid JSON Schema", (_name, schema) => {
  const ajv = new Ajv2020();
  expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true);
});
