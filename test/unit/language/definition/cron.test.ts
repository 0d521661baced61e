import { expect, test } from '@jest/globals';

import { cronProblem, neverComes } from '../../../../language/definition/cron.ts';

test.each([
  '* * * * *',
  '0 9 * * 1-5',
  '*/15 0,12 1-15/2 JAN,jul MON-FRI',
  '5/10 * * * 7',
  'CRON_TZ=Europe/Berlin 30 8 * * *',
  'TZ=UTC @daily',
  ' 0  0 1 1 * ',
  '@hourly',
])('%s is a schedule', (cron) => {
  expect(cronProblem(cron)).toBeNull();
});

test.each([
  ['', 'must have five fields'],
  ['0 0 * *', 'must have five fields'],
  ['0 0 0 * * * *', 'must have five fields'],
  ['60 * * * *', 'has "60" as minute, which is 0-59'],
  ['* 24 * * *', 'has "24" as hour'],
  ['* * 0 * *', 'has "0" as day of month'],
  ['* * * 13 *', 'has "13" as month'],
  ['* * * * 8', 'has "8" as day of week'],
  ['* * * * fun', 'has "fun" as day of week'],
  ['9-5 * * * *', 'has "9-5" as minute'],
  ['*/0 * * * *', 'has "*/0" as minute'],
  ['1/2/3 * * * *', 'has "1/2/3" as minute'],
  ['1-2-3 * * * *', 'has "1-2-3" as minute'],
  ['-1 * * * *', 'has "-1" as minute'],
  ['1,,2 * * * *', 'has "" as minute'],
  ['* * L * *', 'has "L" as day of month'],
  ['@every 5m', 'may be @yearly'],
  ['@reboot', 'may be @yearly'],
  ['CRON_TZ=Mars/Olympus 0 9 * * *', 'names the unknown time zone "Mars/Olympus"'],
  ['CRON_TZ=europe/berlin 0 9 * * *', 'names the unknown time zone "europe/berlin"'],
  ['CRON_TZ=+02:00 0 9 * * *', 'names the unknown time zone "+02:00"'],
  [`${'1,'.repeat(99)}1 * * * *`, 'may have at most 200 characters'],
  [`${'1,'.repeat(61)}1 * * * *`, 'has more than 60 entries for the minute'],
])('%s is none: %s', (cron, problem) => {
  expect(cronProblem(cron)).toContain(problem);
});

test.each([
  ['0 8 31 2 *', true],
  ['0 8 30,31 feb *', true],
  ['0 8 31 4,6,9,11 *', true],
  ['0 8 31 4-6/2 *', true],
  ['TZ=UTC 0 8 30/1 2 *', true],
  ['0 8 29 2 *', false],
  ['0 8 1,31 2 *', false],
  ['0 8 31 4-5 *', false],
  ['0 8 31 2/3 *', false],
  ['0 8 31 2 1', false],
  ['0 8 */31 * *', false],
  ['@monthly', false],
])('whether %s never comes: %s', (cron, never) => {
  expect([cronProblem(cron), neverComes(cron)]).toEqual([null, never]);
});
