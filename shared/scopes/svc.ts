import type { FromSchema } from "json-schema-to-ts";

/**
 * The built-in `svc` scope (spec 2.1): the specification's eighteen fields, and `domain` and `provider`, which it names in a set.
 * The one place that knows their names. Limits and defaults where the specification is silent: docs/protocol.md, "The svc scope".
 */
export const svcSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Service",
  description: "How the services of a repository are run and reached.",
  type: "object",
  additionalProperties: false,
  properties: {
    timeout: {
      title: "Timeout",
      description: "Seconds a service may take to become ready; 0 waits without end.",
      type: "integer",
      minimum: 0,
      maximum: 86_400,
      "x-unit": "seconds",
      default: 900,
    },
    default: {
      title: "Default service",
      description: "The service that answers when none is named: a key of services, or empty for none.",
      type: "string",
      "x-keyOf": "services",
      default: "",
    },
    application: {
      title: "Application service",
      description: "The service that holds the application: a key of services, or empty for none.",
      type: "string",
      "x-keyOf": "services",
      default: "",
    },
    application_path: {
      title: "Application path",
      description: "Where the application stands in the file system.",
      type: "string",
      maxLength: 4096,
      "x-path": true,
      default: "",
    },
    services: {
      title: "Services",
      description: "The services of the repository: for each name the command that tells it is ready, and its image.",
      type: "object",
      additionalProperties: {
        type: "object",
        properties: {
          ready: {
            title: "Ready",
            description: "The command that succeeds once the service is ready.",
            type: "string",
          },
          image: { title: "Image", description: "The image the service runs.", type: "string" },
        },
        required: ["ready", "image"],
        additionalProperties: false,
      },
      propertyNames: { type: "string", minLength: 1, maxLength: 128 },
      "x-command": true,
      default: {},
    },
    envvars: {
      title: "Environment variables",
      description: "Variables given to the services, each name once.",
      type: "array",
      items: {
        type: "object",
        properties: {
          name: {
            title: "Name",
            description: "Letters, digits and _, the first no digit.",
            type: "string",
            pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
          },
          value: { title: "Value", type: "string" },
        },
        required: ["name", "value"],
        additionalProperties: false,
      },
      uniqueItemProperties: ["name"],
      "x-masked": true,
      "x-command": true,
      default: [],
    },
    default_port: {
      title: "Default port",
      description: "The port a service listens on unless it says otherwise: 1 to 65535, in digits.",
      type: "string",
      pattern: "^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$",
      default: "8080",
    },
    domain: {
      title: "Domain",
      description: "The domain under which the services are found.",
      type: "string",
      maxLength: 253,
      default: "",
    },
    provider: {
      title: "Provider",
      description: "Who runs the services.",
      type: "string",
      maxLength: 256,
      default: "",
    },
    proxy_http: {
      title: "Proxy HTTP",
      description: "Whether the proxy answers plain HTTP.",
      type: "boolean",
      default: true,
    },
    proxy_https: {
      title: "Proxy HTTPS",
      description: "Whether the proxy answers HTTPS.",
      type: "boolean",
      default: false,
    },
    proxy_https_redirect: {
      title: "Redirect to HTTPS",
      description: "Whether the proxy sends plain HTTP requests on to HTTPS.",
      type: "boolean",
      default: false,
    },
    proxy_domain: {
      title: "Proxy domain",
      description: "The domain the proxy answers for.",
      type: "string",
      maxLength: 253,
      default: "",
    },
    proxy_url: {
      title: "Proxy URL",
      description: "The address under which the proxy is reached from outside.",
      type: "string",
      maxLength: 2048,
      default: "",
    },
    proxy_aliases: {
      title: "Proxy aliases",
      description: "Further names the proxy answers for, each once.",
      type: "array",
      items: { type: "string", minLength: 1 },
      uniqueItems: true,
      default: [],
    },
    proxy_alias_type: {
      title: "Proxy alias type",
      description: "How the proxy treats its aliases.",
      type: "string",
      maxLength: 64,
      default: "",
    },
    proxy_subpath_map: {
      title: "Map subpaths",
      description: "Whether the proxy maps a subpath to each service.",
      type: "boolean",
      default: false,
    },
    refresh_anchors: {
      title: "Refresh anchors",
      description: "Whether the weekly refresh renews the anchors too.",
      type: "boolean",
      default: false,
    },
    refresh_day: {
      title: "Refresh day",
      description: "The day of the weekly refresh: 0 is Sunday, 6 is Saturday.",
      type: "integer",
      minimum: 0,
      maximum: 6,
      "x-labels": ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
      default: 0,
    },
    refresh_hour: {
      title: "Refresh hour",
      description: "The hour of the weekly refresh, 0 to 23.",
      type: "integer",
      minimum: 0,
      maximum: 23,
      "x-unit": "o'clock",
      default: 4,
    },
  },
} as const;

/** The effective values of the `svc` scope: every field has a default, so all of them are there. */
export type SvcConfig = FromSchema<typeof svcSchema>;
