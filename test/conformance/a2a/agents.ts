/**
 * The agents of the conformance kits: ordinary workflows of this platform, which the kit controls by prefixes
 * of the messageId. The product has no special code for them.
 */
export interface ConformanceAgent {
  key: 'full' | 'minimal' | 'extension';
  body: Record<string, unknown>;
}

const startsWith = (prefix: string): string => `.message_id | startswith("${prefix}")`;
const to = (prefix: string, then: string) => ({ [then]: { when: startsWith(prefix), then } });
const answer = (name: string, set: Record<string, unknown>) => ({ [name]: { set, then: 'end' } });
const FILE = { filename: 'output.txt', mediaType: 'text/plain' };

export const conformanceDefinition = {
  document: { dsl: '1.0.0', namespace: 'conformance', name: 'a2a', version: '1.0.0' },
  do: [
    {
      choose: {
        switch: [
          to('tck-message-response', 'message'),
          to('tck-artifact-file-url', 'fileUrl'),
          to('tck-artifact-file', 'file'),
          to('tck-stream-artifact-file', 'streamedFile'),
          to('tck-artifact-data', 'data'),
          to('tck-artifact-text', 'text'),
          to('tck-reject-task', 'refuse'),
          to('tck-complete-task', 'complete'),
          to('tck-stream-artifact-text', 'streamedText'),
          to('tck-stream', 'stream'),
          to('test-resubscribe-message-id', 'long'),
          to('tck-input-required', 'ask'),
          { other: { when: startsWith('tck-'), then: 'complete' } },
          { unknown: { then: 'ask' } },
        ],
      },
    },
    answer('message', {
      a2a: { message: { parts: [{ text: 'Direct message response', mediaType: 'text/plain' }] } },
    }),
    answer('fileUrl', {
      files: [{ url: 'https://example.com/output.txt', name: 'output.txt', media_type: 'text/plain' }],
    }),
    answer('file', { a2a: { artifacts: [{ parts: [{ raw: 'R2VuZXJhdGVkIGZpbGU=', ...FILE }] }] } }),
    answer('streamedFile', { a2a: { artifacts: [{ parts: [{ raw: 'U3RyZWFtZWQgZmlsZQ==', ...FILE }] }] } }),
    answer('data', { key: 'value', count: 42 }),
    answer('text', { text: 'Generated text content' }),
    {
      refuse: {
        raise: {
          error: {
            type: 'https://serverlessworkflow.io/spec/1.0.0/errors/authorization',
            status: 403,
            title: 'rejected',
          },
        },
      },
    },
    answer('complete', { text: 'Hello from TCK' }),
    answer('streamedText', { text: 'Streamed text content' }),
    answer('stream', { text: 'Stream hello from TCK' }),
    { long: { wait: { seconds: 5 }, then: 'longDone' } },
    answer('longDone', { text: 'Done at last' }),
    { ask: { call: 'human', with: { title: 'What next?', decisions: ['submit'] } } },
    // The kit of 1.0 ends a conversation by a final message; the kit of 0.3 leaves its tasks open.
    {
      goOn: {
        switch: [
          {
            final: {
              when:
                '.payload.text | . == "Complete" or ' +
                '(startswith("TCK ") and (startswith("TCK history message") | not))',
              then: 'answered',
            },
          },
          { more: { then: 'ask' } },
        ],
      },
    },
    { answered: { set: { text: '${ "You said: \\(.payload.text // "nothing")" }' } } },
  ],
};

export function conformanceAgents(workflowId: string): ConformanceAgent[] {
  const common = {
    type: 'workflow',
    version: '1.0.0',
    visibility: 'private',
    description: 'Answers as a conformance kit asks it to',
    provider_name: 'Cadenza',
    provider_url: 'https://example.com',
    documentation: '# Conformance\nSteered by the messageId.',
    modalities: ['text', 'data'],
    tags: ['conformance'],
    skills: [
      {
        name: 'Conformance',
        description: 'Steered by prefixes of the messageId',
        tags: ['conformance'],
        examples: ['tck-complete-task'],
        input_modes: ['text'],
        output_modes: ['text'],
      },
    ],
  };
  const configuration = { workflow_id: workflowId };
  const extension = {
    uri: 'urn:a2a:tck:required-extension',
    description: 'Every client must name it',
    required: true,
  };
  return [
    {
      key: 'full',
      body: {
        ...common,
        name: 'Conformance (full)',
        configuration,
        capabilities_streaming: true,
        capabilities_push: true,
        capabilities_history: true,
      },
    },
    { key: 'minimal', body: { ...common, name: 'Conformance (minimal)', configuration } },
    {
      key: 'extension',
      body: {
        ...common,
        name: 'Conformance (extension)',
        configuration: { ...configuration, a2a: { extensions: [extension] } },
        capabilities_streaming: true,
        capabilities_push: true,
      },
    },
  ];
}
