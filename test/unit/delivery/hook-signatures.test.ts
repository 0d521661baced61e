/** Signatures of inbound webhooks, against the examples that the services document. */
import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';

import type { HookScheme } from '../../../contracts/hooks.ts';
import { refusalOf } from '../../../domain/hooks/verify.ts';

interface Example {
  scheme: HookScheme;
  secret: string;
  body: string;
  /** Seconds since 1970. */
  at: number;
  headers: Record<string, string>;
}

const slackBody = [
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V',
  'channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=',
  'response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F' +
    '96rGlfmibIGlgcZRskXaIFfN',
  'trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
].join('&');

const stripeBody = '{\n  "id": "evt_test_webhook",\n  "object": "event"\n}';
const stripeSecret = 'whsec_test_secret';
const stripeAt = 1492774577;
const stripeSigned = createHmac('sha256', stripeSecret).update(`${stripeAt}.${stripeBody}`).digest('hex');

const examples: Example[] = [
  // docs.github.com, "Validating webhook deliveries": testing the payload validation.
  {
    scheme: 'github',
    secret: "It's a Secret to Everybody",
    body: 'Hello, World!',
    at: 1_700_000_000,
    headers: {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
  },
  // docs.slack.dev, "Verifying requests from Slack".
  {
    scheme: 'slack',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    body: slackBody,
    at: 1531420618,
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
  },
  // The vector of the Standard Webhooks libraries.
  {
    scheme: 'standard',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    body: '{"test": 2432232314}',
    at: 1614265330,
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
  },
  // docs.stripe.com/webhooks, "Verify manually": the form of the header, while a secret is rolled.
  {
    scheme: 'stripe',
    secret: stripeSecret,
    body: stripeBody,
    at: stripeAt,
    headers: {
      'stripe-signature':
        `t=${stripeAt},v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd,` +
        `v1=${stripeSigned},v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39`,
    },
  },
];

const verify = (
  { scheme, secret, body, at, headers }: Example,
  { secrets = [secret], later = 0, tolerance = 300 } = {},
): boolean =>
  refusalOf(
    scheme,
    { body: Buffer.from(body), header: (name) => headers[name] ?? '' },
    { secrets, toleranceSeconds: tolerance, now: new Date((at + later) * 1_000) },
  ) === null;
const without = (name: string, { headers, ...rest }: Example): Example => ({
  ...rest,
  headers: Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name)),
});

test.each(examples)('the documented example of $scheme is genuine, and nothing like it', (example) => {
  expect(verify(example)).toBe(true);
  // While a secret is replaced, in any order.
  const other = example.scheme === 'standard' ? 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' : 'another secret';
  expect(verify(example, { secrets: [other, example.secret] })).toBe(true);
  expect(verify(example, { secrets: [other] })).toBe(false);
  // The bytes count, not what they mean.
  for (const body of [`${example.body} `, example.body.slice(1), example.body.replace(': ', ':')])
    if (body !== example.body) expect(verify({ ...example, body })).toBe(false);
  for (const name of Object.keys(example.headers)) expect(verify(without(name, example))).toBe(false);
});

test.each(examples)('a clock may differ, and an old call of $scheme is refused', (example) => {
  const isTimed = example.scheme !== 'github';
  for (const later of [-299, 299]) expect(verify(example, { later })).toBe(true);
  for (const later of [-302, 302, 86_400]) expect(verify(example, { later })).toBe(!isTimed);
  expect(verify(example, { later: 600, tolerance: 900 })).toBe(true);
});

test('a signature of Standard Webhooks is base64 and nothing else', () => {
  const [, , standard] = examples as [Example, Example, Example];
  const signature = standard.headers['webhook-signature'] ?? '';
  const signed = (text: string): boolean =>
    verify({ ...standard, headers: { ...standard.headers, 'webhook-signature': text } });
  for (const good of [signature, `v1,AAAA ${signature}`, `v2,x ${signature}`])
    expect(signed(good)).toBe(true);
  // The last but one decodes to the same bytes as the genuine one.
  for (const bad of ['=x', 'x', '=', '%20', ',']) expect(signed(`${signature}${bad}`)).toBe(false);
  for (const bad of [
    signature.replace('OE=', 'OF='),
    signature.replace('=', ''),
    `v1, ${signature.slice(3)}`,
  ])
    expect(signed(bad)).toBe(false);
});

test('a time that is moved, and an id that is exchanged, break the signature', () => {
  const [, slack, standard, stripe] = examples as [Example, Example, Example, Example];
  const moved = (example: Example, headers: Record<string, string>): Example => ({
    ...example,
    headers: { ...example.headers, ...headers },
    at: example.at + 1_000,
  });
  expect(verify(moved(slack, { 'x-slack-request-timestamp': String(slack.at + 1_000) }))).toBe(false);
  expect(verify(moved(standard, { 'webhook-timestamp': String(standard.at + 1_000) }))).toBe(false);
  expect(verify({ ...standard, headers: { ...standard.headers, 'webhook-id': 'msg_2' } })).toBe(false);
  const header =
    stripe.headers['stripe-signature']?.replace(`t=${stripe.at}`, `t=${stripe.at + 1_000}`) ?? '';
  expect(verify(moved(stripe, { 'stripe-signature': header }))).toBe(false);
});
