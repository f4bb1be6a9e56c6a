//! Where values end in Redis's protocol, in its second version and its third.

/// Cuts one direction of a connection into whole values.
#[derive(Debug, Default)]
pub(super) struct Values {
    bytes: Vec<u8>,
}

impl Values {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next value that has ended, as it came.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        let rest = self.bytes.split_off(end(&self.bytes)?);
        Some(std::mem::replace(&mut self.bytes, rest))
    }
}

/// The items of an array, each as it came; none of any other value.
pub(super) fn items(value: &[u8]) -> Vec<&[u8]> {
    let Some((head, mut rest)) = line(value).filter(|(head, _)| head.starts_with(b"*")) else { return Vec::new() };
    let mut items = Vec::new();
    for _ in 0..count(head).unwrap_or_default() {
        let Some(end) = end(rest) else { return Vec::new() };
        let (item, after) = rest.split_at(end);
        items.push(item);
        rest = after;
    }
    items
}

/// The bytes of a text; none of any other value, or of none at all.
pub(super) fn text(value: &[u8]) -> Option<&[u8]> {
    let (head, rest) = line(value).filter(|(head, _)| head.starts_with(b"$"))?;
    rest.get(..count(head)?)
}

/// What answers no question: the server says it by itself.
pub(super) fn is_push(value: &[u8]) -> bool {
    value.starts_with(b">")
}

/// An array of such items.
pub(super) fn array(items: &[&[u8]]) -> Vec<u8> {
    [format!("*{}\r\n", items.len()).into_bytes(), items.concat()].concat()
}

/// The length of the value at the beginning, if it has ended.
fn end(bytes: &[u8]) -> Option<usize> {
    let (head, rest) = line(bytes)?;
    let start = bytes.len() - rest.len();
    let count = count(head).unwrap_or_default();
    let inside = match head.first()? {
        b'$' | b'!' | b'=' if is_null(head) => 0,
        b'$' | b'!' | b'=' => count + ENDING.len(),
        b'*' | b'~' | b'>' => several(rest, count)?,
        b'%' => several(rest, count * 2)?,
        // What is said of the value that follows it.
        b'|' => several(rest, count * 2 + 1)?,
        _line => 0,
    };
    (rest.len() >= inside).then_some(start + inside)
}

fn several(mut bytes: &[u8], count: usize) -> Option<usize> {
    let before = bytes.len();
    for _ in 0..count {
        bytes = &bytes[end(bytes)?..];
    }
    Some(before - bytes.len())
}

fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.windows(ENDING.len()).position(|window| window == ENDING)?;
    Some((&bytes[..at], &bytes[at + ENDING.len()..]))
}

fn is_null(head: &[u8]) -> bool {
    head.get(1) == Some(&b'-')
}

fn count(head: &[u8]) -> Option<usize> {
    std::str::from_utf8(head.get(1..)?).ok()?.parse().ok()
}

const ENDING: &[u8] = b"\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: [&[u8]; 12] = [
        b"+OK\r\n",
        b":-12\r\n",
        b"$-1\r\n",
        b"$5\r\na\r\n$9\r\n",
        b"*3\r\n$1\r\na\r\n$-1\r\n*1\r\n:1\r\n",
        b"*-1\r\n",
        b"-ERR no\r\n",
        b"%1\r\n+k\r\n~2\r\n#t\r\n_\r\n",
        b">2\r\n+message\r\n$0\r\n\r\n",
        b"|1\r\n+ttl\r\n:1\r\n$2\r\nab\r\n",
        b"=6\r\ntxt:ab\r\n",
        b",1.5\r\n",
    ];

    #[test]
    fn values_are_found_however_the_bytes_are_cut() {
        let stream = STREAM.concat();
        for cut in 1..=stream.len() {
            let (mut values, mut seen) = (Values::default(), Vec::new());
            for part in stream.chunks(cut) {
                values.feed(part);
                seen.extend(std::iter::from_fn(|| values.next()));
            }
            assert_eq!(seen, STREAM, "in parts of {cut}");
        }
    }

    #[test]
    fn an_array_has_items_and_a_text_has_bytes() {
        let found = items(STREAM[4]);
        assert_eq!(found, [b"$1\r\na\r\n".as_slice(), b"$-1\r\n", b"*1\r\n:1\r\n"]);
        assert_eq!(array(&found), STREAM[4]);
        assert_eq!((text(found[0]), text(found[1]), text(STREAM[0])), (Some(b"a".as_slice()), None, None));
        assert_eq!(text(STREAM[3]), Some(b"a\r\n$9".as_slice()));
        assert!(items(STREAM[5]).is_empty() && items(STREAM[0]).is_empty());
        assert!(is_push(STREAM[8]) && !is_push(STREAM[4]));
    }
}
