/** Submits an own agent or workflow to the marketplace, or another version of it. */
import type { SubmitMarketplaceItemRequest } from '../../../../client/index.ts';
import { navigate } from '../../app/router.ts';
import { marketItemAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { Dialog } from '../dialog.tsx';
import { ProblemText } from '../problem.tsx';
import { RecordForm } from '../record-form.tsx';
import { tell } from '../toasts.tsx';
import { readShared, submissionSection, type Shared } from './shared-record.ts';
import { words } from './words.ts';

interface Props {
  kind: 'agent' | 'workflow';
  /** The agent or the workflow. */
  refId: string;
  open: boolean;
  onClose: () => void;
  /** Something was submitted; the item is shown next. */
  onShared?: () => Promise<void>;
}

export function Share(props: Props) {
  return (
    <Dialog open={props.open} title={words.share} onClose={props.onClose}>
      <Content {...props} />
    </Dialog>
  );
}

function Content(props: Props) {
  const { kind, refId } = props;
  const { data, error } = useQuery<Shared>({
    queryKey: ['shared', kind, refId],
    // What was published a moment ago can be submitted.
    staleTime: 0,
    gcTime: 0,
    queryFn: ({ signal }) => readShared(kind, refId, signal),
  });
  if (error !== null) return <ProblemText error={error} />;
  if (data === undefined) return <div aria-busy="true" />;
  return (
    <>
      <p class="muted">{words.help}</p>
      <Known shared={data} />
      {data.versions.length === 0 ? <p>{words.noVersion}</p> : <Form {...props} shared={data} />}
    </>
  );
}

function Known({ shared: { item } }: { shared: Shared }) {
  if (item === null) return null;
  const versions = item.versions.map(({ version, status }) => `${version} ${words.state[status]}`);
  return (
    <p>
      {words.known} <a href={marketItemAddress(item.id)}>{item.name}</a> ({versions.join(', ')})
    </p>
  );
}

function Form({ kind, refId, shared, onClose, onShared }: Props & { shared: Shared }) {
  return (
    <RecordForm
      id="share"
      sections={[submissionSection(kind, shared)]}
      submit={words.submit}
      onCancel={onClose}
      onSubmit={async (fields) => {
        // The form's schema is that of the request.
        const body = { ...fields, kind, ref_id: refId } as SubmitMarketplaceItemRequest;
        const { id, name, included = [] } = await client.call('submitMarketplaceItem', { body });
        const agents = included.map(({ agent }) => agent);
        onClose();
        tell(agents.length === 0 ? words.submitted(name) : words.submittedWith(name, agents));
        await onShared?.();
        navigate(marketItemAddress(id));
      }}
    />
  );
}
