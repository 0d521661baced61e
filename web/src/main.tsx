import './styles/tokens.css';
import './styles/base.css';
import { render } from 'preact';

import { App } from './app/app.tsx';

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no #app');
render(<App />, root);
