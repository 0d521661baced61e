import type { ComponentChildren } from 'preact';

import page from '../ui/page.module.css';
import { listAddress, Neighbours, type ListName } from './neighbours.tsx';
import { words } from './words.ts';

interface Props {
  list: ListName;
  id: string;
  /** In place of the end of the id, such as a link to the record. */
  children?: ComponentChildren;
}

/** Where a record is: its list as it was seen last, and the records before and after it there. */
export function RecordPath({ list, id, children }: Props) {
  return (
    <p class={page['path']}>
      <ListLink list={list} /> / {children ?? <code>{id.slice(-12)}</code>}
      <Neighbours list={list} id={id} />
    </p>
  );
}

export function ListLink({ list }: { list: ListName }) {
  return <a href={listAddress(list)}>{words.screens[list]}</a>;
}
