//! A connection whose caller must read: it fails when nothing could be written for a while. Otherwise callers who never read would hold
//! the places of all others.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection with a limit on how long a write may wait.
pub struct Stalled<T> {
    io: T,
    limit: Duration,
    /// Runs while a write waits.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<T> Stalled<T> {
    /// The connection with this limit.
    pub const fn new(io: T, limit: Duration) -> Self {
        Self { io, limit, waits: None }
    }

    /// The outcome of a write: an error if writes have waited for too long.
    fn limited(&mut self, cx: &mut Context<'_>, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let limit = self.limit;
        ready!(self.waits.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the caller does not read the answer")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stalled<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stalled<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.limited(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.limited(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_write_fails_when_nobody_reads_and_goes_on_while_somebody_does() {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut ours = Stalled::new(ours, Duration::from_millis(100));
        let reads = tokio::spawn(async move {
            let mut read = [0; 16];
            for byte in &mut read {
                tokio::time::sleep(Duration::from_millis(20)).await;
                *byte = theirs.read_u8().await.unwrap();
            }
            (theirs, read)
        });
        ours.write_all(&[7; 16]).await.unwrap();
        let (_theirs, read) = reads.await.unwrap();
        assert_eq!(read, [7; 16], "sixteen times the pause of a reader is longer than the limit");
        let unread = ours.write_all(&[7; 16]).await.unwrap_err();
        assert_eq!(unread.kind(), ErrorKind::TimedOut);
    }
}
