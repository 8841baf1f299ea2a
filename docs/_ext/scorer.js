// How the search ranks pages: headings that say what was asked come first, then pages of the guide; lists of names come last.
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    const asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/);
    const named = asked.filter(word => word.length > 2 && title.toLowerCase().includes(word)).length;
    const guide = /^(guide\/|newcomer)/.test(page) ? 5 : 0;
    const list = /changelog|sg_execution_times|^api\/|^paper\/results|^develop\//.test(page) ? -8 : 0;
    return score + (kind === "title" ? 10 : 0) + 3 * named + guide + list;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
