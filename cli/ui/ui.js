// Keeps the page up to date. The server renders everything; this asks what has changed, waits for the answer, and puts
// the new parts in the place of the old ones.
'use strict';

const live = document.getElementById('live');
const rows = document.getElementById('rows');
const form = document.getElementById('filter');
let view = document.getElementById('view');
let since = view ? view.dataset.version : '0';
let lost = null; // why the server does not hear of changes
let failure = null; // why the Framework could not be read: its page stays as it was
let heard = false; // since the last failure: the first answer does not wait for a change
let asking; // the request that waits: aborted by a new filter, and while nobody sees the page

const LOOK_MS = 10000; // Pods and Events of the Framework that is shown are not watched: they are looked at again
const AGAIN_MS = 2000;
const GROUP_MOST = 100; // rows

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const parse = (html) => new DOMParser().parseFromString(html, 'text/html');
const query = () => (form ? new URLSearchParams(new FormData(form)) : new URLSearchParams(location.search)).toString();

function say(text, lost) {
  if (live.textContent !== text) live.textContent = text;
  live.classList.toggle('lost', lost);
}

function sayLive() {
  const why = lost ?? failure;
  say(why === null ? 'live' : `${why}. This is what the API server said last.`, why !== null);
}

const seen = () => document.visibilityState === 'visible' ? Promise.resolve() : new Promise((done) => {
  document.addEventListener('visibilitychange', done, { once: true });
});
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible' && asking) asking.abort();
});

// Where a key is among rows, or belongs. Rows are in the order of their keys, which are ASCII.
function place(all, key) {
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle].dataset.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Into the group of the row before it. A group that has become too large is cut in two.
function insert(all, at, row) {
  if (at > 0) all[at - 1].after(row);
  else if (all.length > 0) all[0].before(row);
  else rows.replaceChildren(newGroup([row]));
  all.splice(at, 0, row);
  const group = row.parentElement;
  if (group.children.length > GROUP_MOST) group.after(newGroup([...group.children].slice(GROUP_MOST / 2)));
}

function newGroup(children) {
  const group = document.createElement('div');
  group.setAttribute('role', 'rowgroup');
  group.className = 'group';
  group.append(...children);
  return group;
}

function replace(all, at, row) {
  const focused = all[at].contains(document.activeElement);
  all[at].replaceWith(row);
  all[at] = row;
  if (focused) row.querySelector('a').focus();
}

function putRows(news) {
  const fresh = [...parse(news.rows).body.children];
  if (news.reset) rows.replaceChildren(...fresh);
  const all = [...rows.querySelectorAll('[data-key]')];
  const has = (at, key) => at < all.length && all[at].dataset.key === key;
  for (const key of news.gone) {
    const at = place(all, key);
    if (has(at, key)) all.splice(at, 1)[0].remove();
  }
  for (const row of news.reset ? [] : fresh) {
    const at = place(all, row.dataset.key);
    row.classList.add('changed');
    if (has(at, row.dataset.key)) replace(all, at, row);
    else insert(all, at, row);
  }
  document.getElementById('count').value = all.length;
}

// The page of a Framework again: only sections that differ are replaced, so that what somebody reads or selects stays.
async function putFramework() {
  const answer = await fetch(location.href);
  const fresh = parse(await answer.text());
  const now = fresh.getElementById('view');
  failure = view && !now && answer.status !== 404 ? fresh.querySelector('#main .bad').textContent.replace(/\.$/, '') : null;
  if (failure) return;
  if (!now || !view) {
    document.getElementById('main').replaceChildren(...fresh.getElementById('main').childNodes);
    view = document.getElementById('view');
    return;
  }
  for (const section of now.querySelectorAll('section')) {
    const old = document.getElementById(section.id);
    if (old && old.innerHTML === section.innerHTML) continue;
    if (!old) {
      view.append(section);
      continue;
    }
    for (const open of old.querySelectorAll('details[open]')) section.querySelector('#' + open.id)?.setAttribute('open', '');
    for (const [i, box] of old.querySelectorAll('pre, .picture').entries()) {
      if (box.scrollTop || box.scrollLeft) requestAnimationFrame(() => document.getElementById(section.id).querySelectorAll('pre, .picture')[i]?.scrollTo(box.scrollLeft, box.scrollTop));
    }
    old.replaceWith(section);
  }
  view.dataset.over = now.dataset.over;
}

async function ask() {
  asking = new AbortController();
  const answer = await fetch(`rows?since=${since}&${heard ? '' : 'now=1&'}${query()}`, { signal: asking.signal });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const news = await answer.json();
  const any = news.reset || news.rows !== '' || news.gone.length > 0;
  if (any && rows) putRows(news);
  else if (any) await putFramework();
  since = news.version;
  heard = true;
  lost = news.lost;
  sayLive();
}

async function follow() {
  for (;;) {
    await seen();
    try {
      await ask();
    } catch (error) {
      if (error.name === 'AbortError') continue;
      heard = false;
      say('kubectl framework ui does not answer: has it ended?', true);
      await sleep(AGAIN_MS);
    }
  }
}

async function look() {
  for (;;) {
    await sleep(LOOK_MS);
    await seen();
    if (view && view.dataset.over === 'true' && !failure) continue;
    await putFramework().then(() => { if (heard) sayLive(); }, () => {});
  }
}

if (form) {
  let typing;
  const filter = () => {
    history.replaceState(null, '', `?${query()}`);
    since = 0;
    if (asking) asking.abort();
  };
  form.addEventListener('submit', (event) => { event.preventDefault(); filter(); });
  form.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(filter, 150); });
}
follow();
if (!rows) look();
