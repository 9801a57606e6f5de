// Languages of the whole world are known.
const n = 1234567.891, d = new Date(Date.UTC(2024, 1, 29));
for (const l of ['en-US', 'de-DE', 'ar-EG', 'hi-IN', 'ja-JP'])
	console.log(l, n.toLocaleString(l), d.toLocaleDateString(l, { timeZone: 'UTC', dateStyle: 'full' }));
console.log(['ä', 'z', 'a'].sort(new Intl.Collator('de').compare), 'ß'.toUpperCase(), 'é'.normalize('NFD').length);
console.log(new Intl.PluralRules('pl').select(3), new Intl.ListFormat('fr').format(['a', 'b']), Intl.DateTimeFormat().resolvedOptions().locale);
console.log([...new Intl.Segmenter('en').segment('👩‍👩‍👧é')].length, new TextDecoder('shift_jis').decode(new Uint8Array([0x93, 0xfa])));
