/* oxlint-disable unicorn/no-thenable -- `then` is a property of the DSL */
/* A definition with one task of every supported kind; the mistakes are made in it. */

/** JSON in which tests reach for any property. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests break the definition in untyped ways
export type Loose = any;

/** A fresh copy on each call. */
export function correct(): Loose {
  return {
    document: { dsl: '1.0.3', namespace: 'default', name: 'order', version: '0.1.0' },
    input: {
      schema: {
        format: 'json',
        document: { type: 'object', required: ['order'], properties: { order: { type: 'object' } } },
      },
      from: '.order',
    },
    use: {
      authentications: {
        shop: { bearer: { use: 'shopToken' } },
        office: { basic: { username: 'me', password: '${ $secrets.shopToken }' } },
      },
      errors: {
        soldOut: {
          type: 'https://example.com/errors/sold-out',
          status: 409,
          title: 'Sold out',
          detail: '${ "no \\(.item)" }',
        },
      },
      functions: {
        notify: {
          call: 'http',
          with: { method: 'post', endpoint: 'https://example.com/notify', body: '${ . }' },
        },
      },
      retries: {
        gently: {
          delay: { seconds: 3 },
          backoff: { exponential: {} },
          limit: { attempt: { count: 5 } },
          when: '$error.status == 503',
        },
      },
      secrets: ['shopToken'],
      timeouts: { short: { after: 'PT30S' } },
    },
    timeout: { after: { hours: 1 } },
    do: [
      {
        prepare: {
          set: { items: '${ .items }', note: 'for ${ .customer }' },
          export: { as: '$context + {items: .items}' },
        },
      },
      {
        fetch: {
          if: '.items != null',
          call: 'http',
          with: {
            method: 'get',
            endpoint: { uri: 'https://example.com/items/{note}', authentication: { use: 'shop' } },
            headers: { accept: 'application/json', 'x-key': '${ $secrets.shopToken }' },
            query: { limit: '3' },
          },
          timeout: 'short',
          output: { as: '{items: .items, input: $input}' },
        },
      },
      {
        each: {
          for: { each: 'item', in: '.items', at: 'position' },
          while: '$position < 10',
          do: [
            {
              check: {
                call: 'agent',
                with: { agent: 'checker', version: '^1.0.0', input: { item: '${ $item }' }, timeout: 'PT5M' },
              },
            },
          ],
        },
      },
      {
        both: {
          fork: {
            branches: [
              { left: { call: 'notify', with: { who: 'left' } } },
              {
                right: {
                  run: {
                    workflow: {
                      namespace: 'default',
                      name: 'other',
                      version: '0.1.0',
                      input: { a: '${ . }' },
                    },
                  },
                },
              },
            ],
          },
        },
      },
      {
        ask: {
          call: 'human:1.0.0@default',
          with: {
            title: 'Order of ${ .customer }',
            form: { type: 'object', properties: { amount: { type: 'number' } } },
            decisions: ['approve', 'reject'],
            candidates: { groups: ['buyers'], users: ['ann', 'bob'] },
            priority: 70,
            due: { hours: 4 },
            expires: 'P1D',
            on_expiry: { decision: 'reject' },
            remind: ['PT1H'],
            escalate: [{ after: 'PT12H', to: { roles: ['admin'] } }],
            quorum: { approvals: 2, exclude_initiator: true },
            require_comment: ['reject'],
            delegate: 'anyone',
            context: ['fetch', { items: '${ $context.items }' }],
          },
        },
      },
      {
        decide: {
          switch: [{ yes: { when: '.decision == "approve"', then: 'order' } }, { no: { then: 'refuse' } }],
        },
      },
      {
        order: {
          try: [
            {
              buy: {
                call: 'http',
                with: { method: 'POST', endpoint: '${ .url }', body: { items: '${ $context.items }' } },
              },
            },
          ],
          catch: {
            errors: {
              with: {
                type: 'https://open-workflow-specification.org/spec/1.0.0/errors/communication',
                status: 503,
              },
            },
            as: 'problem',
            when: '$problem.status == 503',
            retry: 'gently',
            do: [{ later: { wait: 'PT10S' } }, { tell: { set: { error: '${ $problem }' } } }],
            then: 'finish',
          },
          then: 'finish',
        },
      },
      { refuse: { raise: { error: 'soldOut' } } },
      { finish: { do: [{ last: { set: '${ {done: true} }' } }], then: 'end' } },
    ],
    output: { as: '{result: ., items: $context.items}' },
  };
}
