/** Who gets a place to send deliveries, and when it has to be given to others. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { DeliveryPlaces, type DeliveryPlace } from '../../../domain/delivery/places.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const target = (holder: string, host: string) => ({
  owner_id: holder,
  team_id: null,
  url: `https://${host}/hook`,
});

function fill(places: DeliveryPlaces): DeliveryPlace[] {
  return Array.from({ length: 25 }, (_unused, number) => {
    const place = places.place();
    expect(place.take(target('ada', `host-${number}`))).toBe(true);
    return place;
  });
}

test('25 places are of one holder; another one gets one, and so does who comes after one has left', () => {
  const places = new DeliveryPlaces();
  const [first] = fill(places) as [DeliveryPlace];
  const late = places.place();
  expect(late.take(target('ada', 'late'))).toBe(false);
  expect(places.place().take(target('bob', 'late'))).toBe(true);
  first.leave();
  expect(late.take(target('ada', 'late'))).toBe(true);
  expect(places.place().take(target('ada', 'later'))).toBe(false);
});

test('a place is kept while nobody wants it, and given to others after ten seconds', () => {
  const places = new DeliveryPlaces();
  const all = fill(places);
  jest.advanceTimersByTime(60_000);
  expect(all.some((place) => place.isOver())).toBe(false);
  const young = places.place();
  all.pop()?.leave();
  expect(young.take(target('ada', 'young'))).toBe(true);
  expect(places.place().take(target('ada', 'late'))).toBe(false);
  expect(all.every((place) => place.isOver())).toBe(true);
  expect(young.isOver()).toBe(false);
  jest.advanceTimersByTime(10_001);
  expect(young.isOver()).toBe(true);
});

test('of a worker that is short of memory a holder gets two places', () => {
  let isShort = true;
  const places = new DeliveryPlaces(() => isShort);
  const [first, second, third] = [places.place(), places.place(), places.place()];
  expect([first, second, third].map((place, at) => place.take(target('ada', `host-${at}`)))).toEqual([
    true,
    true,
    false,
  ]);
  expect(places.place().take(target('bob', 'other'))).toBe(true);
  isShort = false;
  expect(third.take(target('ada', 'host-2'))).toBe(true);
});

test('a holder with more places gives them back when memory gets short, though nobody can ask', () => {
  let isShort = false;
  const places = new DeliveryPlaces(() => isShort);
  const all = fill(places);
  jest.advanceTimersByTime(10_001);
  expect(all.filter((place) => place.isOver())).toEqual([]);
  isShort = true;
  expect(all.every((place) => place.isOver())).toBe(true);
  for (const place of all.slice(2)) place.leave();
  expect(all.slice(0, 2).some((place) => place.isOver())).toBe(false);
});
