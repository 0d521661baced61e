// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611301700;
export const functionsDigest = '8543da3d3d3d8f29dc1a03d310456c75d3539934ae7f91c69763fe905113e497';
