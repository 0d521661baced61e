/**
 * Zod shapes shared by several tasks (dsl-reference.md). Names and expressions in them are checked elsewhere.
 */
import { z } from 'zod';
import { durationToMs } from './duration.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { byType, chosen, exact, refuse } from './shape.ts';

export const text = z.string();
export const name = z.string().min(1, 'may not be empty');
export const anything = z.unknown();
export const freeObject = z.record(z.string(), z.unknown());
export const textMap = z.record(z.string(), z.string());

/** A task list. Each task is checked separately, so that problems name its position. */
export const taskList = z.array(z.unknown());

export function isExpression(value: unknown): value is string {
  return typeof value === 'string' && value.includes('${');
}

export const duration = z.unknown().check((context) => {
  const { value } = context;
  if (value === undefined) return refuse(context, 'required');
  if (isExpression(value)) return;
  try {
    durationToMs(value);
  } catch (error) {
    refuse(context, `is not a duration: ${error instanceof Error ? error.message : String(error)}`);
  }
});

export const timeout = byType({ string: name, object: exact({ after: duration }) });

/** A URI or a `${ … }`. */
const uri = z
  .string()
  .min(1, 'may not be empty')
  .regex(/^(?:[^\s]+|[\s\S]*\$\{[\s\S]*)$/, 'must be a URI without blanks');

const secretReference = exact({ use: name });

function credentials(shape: z.core.$ZodShape): z.ZodType {
  const inline = exact(shape);
  return chosen([secretReference, inline], (value) =>
    isRecord(value) && Object.hasOwn(value, 'use') ? secretReference : inline,
  );
}

const oauth2Token = exact({ token: text, type: text });

const oauth2Shape = {
  authority: uri,
  grant: z.enum([
    'authorization_code',
    'client_credentials',
    'password',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:token-exchange',
  ]),
  client: exact({
    id: text.optional(),
    secret: text.optional(),
    assertion: text.optional(),
    authentication: z
      .enum(['client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt', 'none'])
      .optional(),
  }).optional(),
  request: exact({
    encoding: z.enum(['application/x-www-form-urlencoded', 'application/json']).optional(),
  }).optional(),
  issuers: z.array(text).optional(),
  scopes: z.array(text).optional(),
  audiences: z.array(text).optional(),
  username: text.optional(),
  password: text.optional(),
  subject: oauth2Token.optional(),
  actor: oauth2Token.optional(),
};

const SCHEMES = {
  basic: credentials({ username: text, password: text }),
  bearer: credentials({ token: text }),
  digest: credentials({ username: text, password: text }),
  oauth2: credentials({
    ...oauth2Shape,
    endpoints: exact({
      token: uri.optional(),
      revocation: uri.optional(),
      introspection: uri.optional(),
    }).optional(),
  }),
  oidc: credentials(oauth2Shape),
};

function exactlyOne(keys: readonly string[]): (context: z.core.ParsePayload) => void {
  return (context) => {
    if (!isRecord(context.value)) return;
    const present = Object.keys(context.value).filter((key) => keys.includes(key));
    if (present.length !== 1) refuse(context, `needs exactly one of: ${keys.join(', ')}`);
  };
}

const optionalSchemes = {
  basic: SCHEMES.basic.optional(),
  bearer: SCHEMES.bearer.optional(),
  digest: SCHEMES.digest.optional(),
  oauth2: SCHEMES.oauth2.optional(),
  oidc: SCHEMES.oidc.optional(),
};

/** An authentication in `use.authentications`, which cannot itself contain `use`. */
export const authentication = exact(optionalSchemes).check(exactlyOne(Object.keys(SCHEMES)));

export const referenceableAuthentication = exact({ ...optionalSchemes, use: name.optional() }).check(
  exactlyOne(['use', ...Object.keys(SCHEMES)]),
);

export const endpoint = byType({
  string: uri,
  object: exact({ uri, authentication: referenceableAuthentication.optional() }),
});

export const externalResource = exact({ name: text.optional(), endpoint });

const dataSchema = exact({
  format: text.optional(),
  document: byType({ object: z.unknown(), boolean: z.unknown() }).optional(),
  resource: externalResource.optional(),
}).check(exactlyOne(['document', 'resource']));

const transformation = byType({ string: name, object: freeObject });

export const input = exact({ schema: dataSchema.optional(), from: transformation.optional() });
export const output = exact({ schema: dataSchema.optional(), as: transformation.optional() });

export const errorDefinition = exact({
  type: uri,
  status: z.int(),
  instance: text.optional(),
  title: text.optional(),
  detail: text.optional(),
});

export const retryPolicy = exact({
  when: name.optional(),
  exceptWhen: name.optional(),
  delay: duration.optional(),
  backoff: exact({
    constant: exact({}).optional(),
    exponential: exact({
      factor: z.number().min(1, 'must be 1 or more').max(100, 'may be at most 100').optional(),
      maxDelay: duration.optional(),
    }).optional(),
    linear: exact({ increment: duration.optional(), maxDelay: duration.optional() }).optional(),
  })
    .check(exactlyOne(['constant', 'exponential', 'linear']))
    .optional(),
  limit: exact({
    attempt: exact({
      count: z.int().min(0, 'must be 0 or more').optional(),
      duration: duration.optional(),
    }).optional(),
    duration: duration.optional(),
  }).optional(),
  jitter: exact({ from: duration, to: duration }).optional(),
});

const eventProperties = z.looseObject({
  id: text.optional(),
  source: uri.optional(),
  type: text.optional(),
  time: text.optional(),
  subject: text.optional(),
  datacontenttype: text.optional(),
  dataschema: uri.optional(),
  data: anything.optional(),
});

/** Properties of an event to emit; `type` is required. */
export const emittedEvent = eventProperties.extend({ type: text });

const eventFilter = exact({
  with: eventProperties.refine((filter) => Object.keys(filter).length > 0, 'needs at least one property'),
  correlate: z.record(z.string(), exact({ from: text, expect: text.optional() })).optional(),
});

const consumption = {
  all: z.array(eventFilter).optional(),
  any: z.array(eventFilter).optional(),
  one: eventFilter.optional(),
};

export const eventStrategy = exact({
  ...consumption,
  until: byType({
    string: name,
    object: exact(consumption).check(exactlyOne(['all', 'any', 'one'])),
  }).optional(),
}).check(exactlyOne(['all', 'any', 'one']));

export const readMode = z.enum(['data', 'envelope', 'raw']);

export const iterator = exact({
  item: name.optional(),
  at: name.optional(),
  do: taskList.optional(),
  output: output.optional(),
  export: output.optional(),
});

/** Properties that every task may have. */
export const taskBase = {
  if: name.optional(),
  input: input.optional(),
  output: output.optional(),
  export: output.optional(),
  timeout: timeout.optional(),
  // oxlint-disable-next-line unicorn/no-thenable -- the DSL's own property
  then: name.optional(),
  metadata: freeObject.optional(),
};
