import { personName } from '../../data/people.ts';
import { user } from '../../data/session.ts';
import { words } from './words.ts';

export function ownerName(id: string): string {
  return id === user.value?.id ? words.you : personName(id);
}
