package io.github.reactorratelimit.spi;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** A clock that a test moves. */
final class ManualClock extends Clock {

    private volatile Instant time = Instant.parse("2030-01-01T00:00:00Z");

    void advance(Duration step) {
        time = time.plus(step);
    }

    @Override
    public Instant instant() {
        return time;
    }

    @Override
    public ZoneId getZone() {
        return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
        return this;
    }
}
