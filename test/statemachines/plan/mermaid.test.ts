import { defineSagaFromSteps, sagaGraph } from 'counterstep';
import { expect, test } from 'vitest';
import { diamond, line, reading, spec, stepOf, toolOf, tools } from '../samples.ts';

test('the picture of a line', () => {
  const lines = sagaGraph(line.plan).split('\n');
  expect(
    lines.slice(
      0,
      lines.findIndex((each) => each.includes('classDef')),
    ),
  ).toEqual([
    'flowchart TD',
    '  start(["line 1"])',
    '  s1["<b>look</b><br/>look-up<br/>reads"]:::reads',
    '  s2["<b>hold</b><br/>hold-stock<br/>reversible"]:::undoable',
    '  s3["<b>charge</b><br/>charge-card<br/>compensable"]:::undoable',
    '  s4{{"<b>send</b><br/>send-mail<br/>pivot: irreversible"}}:::pivot',
    '  start --> s1',
    '  s1 --> s2',
    '  s2 --> s3',
    '  s3 --> s4',
    '  completed([completed]):::good',
    '  s4 --> completed',
    '  subgraph recovery [on failure]',
    '    direction TB',
    '    r4["contain send"]:::counter',
    '    r3["compensate charge"]:::counter',
    '    r2["compensate hold"]:::counter',
    '    r4 --> r3',
    '    r3 --> r2',
    '  end',
    '  s4 -.-> r4',
    '  s3 -.-> r3',
    '  s2 -.-> r2',
    '  recovery --> compensated([compensated]):::good',
    '  recovery -.-> review[/review by a person/]:::person',
    '  recovery -.-> incident([incident]):::pivot',
  ]);
});

test('a graph keeps its branches; without a pivot there is no incident', () => {
  const picture = sagaGraph(diamond.plan);
  for (const arrow of [
    's1 --> s2',
    's1 --> s3',
    's2 --> s4',
    's3 --> s4',
    'r4 --> r2',
    'r4 --> r3',
  ]) {
    expect(picture).toContain(arrow);
  }
  expect(picture).not.toContain('incident');
});

test('what only reads has no recovery on the picture', () => {
  expect(sagaGraph(reading.plan)).not.toContain('recovery');
});

test('a superseded effect, a person, and effects behind the pivot', () => {
  const { plan } = defineSagaFromSteps(spec, [
    stepOf('publish', toolOf('supersede')),
    stepOf('approve', toolOf('human_decision')),
    stepOf('send', tools.send),
    stepOf('tell', tools.send),
  ]);
  const picture = sagaGraph(plan);
  expect(picture).toContain('supersede publish');
  expect(picture).toContain('ask a person about approve');
  expect(picture.match(/pivot: irreversible/g)).toHaveLength(1);
});
