package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Pauses keys of the limiter as answers say. It never fails a call and never delays one. When the caller gets the answer, a
 * limiter in this process has the pause, and one in Redis has been sent it.
 */
final class ServerLimitTracker {

    private final RateLimiter limiter;
    private final ServerLimitSpec heeded;
    private final PauseAccumulator pauseAccumulator = new PauseAccumulator(Schedulers.parallel());

    private final LongAdder pauses = new LongAdder();
    private final LongAdder slowdowns = new LongAdder();
    private final LongAdder malformed = new LongAdder();
    private final LongAdder lost = new LongAdder();

    ServerLimitTracker(RateLimiter limiter, ServerLimitSpec heeded) {
        this.limiter = limiter;
        this.heeded = heeded;
    }

    ServerLimitStats learned() {
        return new ServerLimitStats(pauses.sum(), slowdowns.sum(), malformed.sum(), lost.sum());
    }

    /** @param permits what the call cost */
    void learn(String key, long permits, ClientResponse answer) {
        ServerLimitHint hint = hintOf(answer);
        if (hint.malformed()) {
            malformed.increment();
        }
        if (hint.pauseNanos() > 0) {
            pauses.increment();
            pause(key, hint.pauseNanos());
        } else if (heeded.slowDown() && isBelowOurs(hint, permits)) {
            slowdowns.increment();
            pause(
                    key,
                    pauseAccumulator.pauseNanos(
                            DirectLimiter.of(limiter).sharedKey(key), hint.paceNanos(), hint.paceForNanos()));
        }
    }

    /** Whatever a server writes, the caller gets its answer: fields that cannot be read count as malformed. */
    private ServerLimitHint hintOf(ClientResponse answer) {
        try {
            return ServerLimitHint.of(answer, heeded);
        } catch (RuntimeException notUnderstood) {
            return ServerLimitHint.MALFORMED;
        }
    }

    private boolean isBelowOurs(ServerLimitHint hint, long permits) {
        return hint.paceNanos()
                > limiter.policy().timeFor(permits).map(Duration::toNanos).orElse(0L);
    }

    private void pause(String key, long nanos) {
        if (nanos > 0) {
            Mono.defer(() -> limiter.pauseAtLeast(key, Duration.ofNanos(nanos)))
                    .subscribe(done -> {}, notTaken -> lost.increment());
        }
    }
}
