import type { ComponentChildren } from 'preact';

import page from '../ui/page.module.css';
import { listAddress, Neighbours, type ListName } from './neighbours.tsx';
import { words } from './words.ts';

interface Props {
  list: ListName;
  id: string;
  /** The name of the record, or a link to it; until it is known, the end of the id is shown. */
  children?: ComponentChildren;
}

/** Where a record is: its list as it was seen last, and the records before and after it there. */
export function RecordPath({ list, id, children }: Props) {
  return (
    <p class={page['path']}>
      <ListLink list={list} /> / {children || <code>{idTail(id)}</code>}
      <Neighbours list={list} id={id} />
    </p>
  );
}

/** Tells records of one name apart. */
export function idTail(id: string): string {
  return id.slice(-12);
}

export function ListLink({ list }: { list: ListName }) {
  return <a href={listAddress(list)}>{words.screens[list]}</a>;
}
