import { expect, test } from '@jest/globals';

import { describeDevice } from '../../../api/describe-device.ts';

const cases: [string | null, string | null][] = [
  [null, null],
  ['', null],
  ['curl/8.9.1', 'curl'],
  ['cadenza-cli/1.0 (Linux)', 'cadenza-cli on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/141.0 Safari/537.36 Edg/141.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
      'Version/19.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  [
    'Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/141.0 Mobile Safari/537.36',
    'Chrome on Android',
  ],
  ['<script>', 'Unknown'],
];

test.each(cases)('%p is %p', (userAgent, described) => {
  expect(describeDevice(userAgent)).toBe(described);
});
