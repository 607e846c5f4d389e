export const optionalBoolean = { type: ["boolean", "null"] } as const;

export const valueEdit = {
  description: "a change of a place inside a field's value",
  type: "object",
  properties: {
    field: { description: "a field such as svc.services", type: "string" },
    path: {
      description: "a JSON pointer into the value, such as /web/image; if omitted, the value itself",
      type: ["string", "null"],
      pattern: "^(/([^~]|~[01])*)?$",
    },
    op: { enum: ["set", "unset", "add", "remove"] },
    value: {},
  },
  required: ["field", "op"],
  additionalProperties: false,
  if: { properties: { op: { const: "unset" } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { properties: { value: false } },
  else: { required: ["value"] },
} as const;

export const typedChange = {
  description: "a change as a person types it",
  type: "object",
  properties: {
    place: {
      description: "a field, or a place inside its value, such as svc.envvars.PORT",
      type: "string",
      minLength: 1,
    },
    op: valueEdit.properties.op,
    text: { type: "string" },
    json: optionalBoolean,
  },
  required: ["place", "op"],
  additionalProperties: false,
  if: valueEdit.if,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { properties: { text: false } },
  else: { required: ["text"] },
} as const;
