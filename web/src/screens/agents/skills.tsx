/** What an agent says it can do. */
import { useSignal } from '@preact/signals';

import type { Agent, AgentSkill } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { FormattedText } from '../../ui/formatted-text.tsx';
import { patchOf } from '../../ui/form-sections.ts';
import page from '../../ui/page.module.css';
import { RecordForm } from '../../ui/record-form.tsx';
import { refreshAgent } from './agent-data.ts';
import css from './agents.module.css';
import { words } from './words.ts';

type Editing = AgentSkill | 'new' | null;

export function Skills({ agent }: { agent: Agent }) {
  const editing = useSignal<Editing>(null);
  const deleting = useSignal<AgentSkill | null>(null);
  const mayChange = agent.can.includes('update');
  return (
    <div class={page['parts']}>
      {agent.skills.length === 0 && <p class="muted">{words.noSkills}</p>}
      <ul class={css['skills']}>
        {agent.skills.map((skill) => (
          <li key={skill.id} class={css['skill']}>
            <Skill skill={skill} />
            {mayChange && (
              <div class={page['actions']}>
                <button type="button" onClick={() => (editing.value = skill)}>
                  {words.edit}
                </button>
                <button type="button" onClick={() => (deleting.value = skill)}>
                  {words.delete}
                </button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {mayChange && (
        <div>
          <button type="button" onClick={() => (editing.value = 'new')}>
            {words.addSkill}
          </button>
        </div>
      )}
      <Edit agent={agent} editing={editing.value} onClose={() => (editing.value = null)} />
      <Confirm
        title={deleting.value === null ? null : words.deleteSkill(deleting.value.name)}
        text={words.deleteSkillText}
        act={words.delete}
        onClose={() => (deleting.value = null)}
        onAct={async () => {
          const path = { id: agent.id, skill_id: deleting.value?.id ?? '' };
          await client.call('deleteAgentSkill', { path });
          await refreshAgent(agent.id);
        }}
      />
    </div>
  );
}

function Skill({ skill }: { skill: AgentSkill }) {
  return (
    <>
      <h2>{skill.name}</h2>
      {skill.description !== null && <FormattedText text={skill.description} />}
      {(skill.tags ?? []).length > 0 && <p class="muted">{(skill.tags ?? []).join(' · ')}</p>}
      {(skill.examples ?? []).length > 0 && (
        <p>
          {words.examples}: {(skill.examples ?? []).join(' · ')}
        </p>
      )}
    </>
  );
}

const lines = (title: string) => ({ type: 'array', items: { type: 'string' }, title });
const skillSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', title: 'Name', maxLength: 100 },
    description: { type: 'string', title: 'Description', maxLength: 10_000 },
    tags: lines('Tags'),
    examples: lines('Examples'),
    input_modes: lines('Media types that it takes'),
    output_modes: lines('Media types that it gives'),
  },
};

function Edit({ agent, editing, onClose }: { agent: Agent; editing: Editing; onClose: () => void }) {
  const isNew = editing === 'new';
  const skill = editing === 'new' ? null : editing;
  return (
    <Dialog open={editing !== null} title={isNew ? words.addSkill : words.editSkill} onClose={onClose}>
      <RecordForm
        id="skill"
        sections={[{ id: 'skill', member: '', schema: skillSchema, values: skill }]}
        submit={isNew ? words.add : words.save}
        onCancel={onClose}
        onSubmit={async (body) => {
          // The schema demands the name.
          const fields = body as { name: string };
          if (skill === null) await client.call('createAgentSkill', { path: { id: agent.id }, body: fields });
          else
            await client.call('updateAgentSkill', {
              path: { id: agent.id, skill_id: skill.id },
              body: patchOf(body, { ...skill }),
            });
          await refreshAgent(agent.id);
          onClose();
        }}
      />
    </Dialog>
  );
}
