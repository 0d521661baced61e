// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611230656;
export const functionsDigest = '47222cceb91a9e47b03c1a70b425dd7455e0b9f2721be643577969234e0aacdf';
