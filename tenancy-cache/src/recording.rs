//! Answers that come piece by piece.

use futures_util::stream::{Stream, StreamExt, unfold};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::envelope::Plain;
use crate::slot::Slot;

impl<T: Serialize + DeserializeOwned + Send + Sync> Slot<Vec<T>> {
    /// Passes a stream on, and keeps what came if it was whole: no piece was an error, it came to its end, and `is_last`
    /// said so of its last piece. An engine that goes away in the middle of an answer ends its stream too, so an end
    /// alone proves nothing.
    ///
    /// The pieces are kept before the end is passed on, and replayed by whoever finds them. An answer larger than the
    /// layer takes is passed on and not kept. Dropped before its end, the stream keeps nothing.
    pub fn record<S, E>(self, stream: S, is_last: impl Fn(&T) -> bool + Send) -> impl Stream<Item = Result<T, E>> + Send
    where
        S: Stream<Item = Result<T, E>> + Send,
        E: Send,
    {
        let recording = Recording { plain: Some(Plain::new(self.scope.pass.context())), is_whole: false, slot: self };
        unfold((Box::pin(stream), recording, is_last), async |(mut stream, mut recording, is_last)| {
            let piece = stream.next().await;
            match &piece {
                Some(Ok(piece)) => recording.take(piece, is_last(piece)),
                Some(Err(_)) => recording.plain = None,
                None => recording.end().await,
            }
            piece.map(|piece| (piece, (stream, recording, is_last)))
        })
    }
}

/// What came so far: the JSON of a list that is not closed yet.
struct Recording<T> {
    slot: Slot<Vec<T>>,
    /// Nothing when it is not kept, whatever comes.
    plain: Option<Plain>,
    is_whole: bool,
}

impl<T: Serialize> Recording<T> {
    fn take(&mut self, piece: &T, is_last: bool) {
        let Some(plain) = &mut self.plain else { return };
        plain.push(if plain.is_empty() { b"[" } else { b"," });
        let is_kept = plain.add(piece).is_ok() && plain.len() <= self.slot.limit();
        self.is_whole = is_last;
        if !is_kept {
            self.plain = None;
        }
    }

    async fn end(&mut self) {
        if let Some(mut plain) = self.plain.take().filter(|_| self.is_whole) {
            plain.push(b"]");
            // Whoever reads the stream has the answer, kept or not; a denial is on record.
            let _kept = self.slot.put_plain(&plain).await;
        }
    }
}
