package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Passes on to the limiter what answers say. Never fails a call, and never makes it wait: a limiter in this process has the pause when
 * the answer is passed on; one in Redis has been sent it, before anything that whoever reads the answer may ask.
 */
final class ServerLimitTracker {

    private final RateLimiter limiter;
    private final ServerLimitSpec heeded;
    private final PauseAccumulator pacer = new PauseAccumulator(Schedulers.parallel());

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
        ServerLimitHint word = wordOf(answer);
        if (word.malformed()) {
            malformed.increment();
        }
        if (word.pauseNanos() > 0) {
            pauses.increment();
            pause(key, word.pauseNanos());
        } else if (heeded.slowsDown() && isBelowOurs(word, permits)) {
            slowdowns.increment();
            pause(
                    key,
                    pacer.pauseNanos(DirectLimiter.of(limiter).sharedKey(key), word.paceNanos(), word.paceForNanos()));
        }
    }

    /** Whatever a server writes, its answer is passed on: what makes the reading fail counts as malformed. */
    private ServerLimitHint wordOf(ClientResponse answer) {
        try {
            return ServerLimitHint.of(answer, heeded);
        } catch (RuntimeException notUnderstood) {
            return ServerLimitHint.MALFORMED;
        }
    }

    private boolean isBelowOurs(ServerLimitHint word, long permits) {
        return word.paceNanos()
                > limiter.policy().timeFor(permits).map(Duration::toNanos).orElse(0L);
    }

    private void pause(String key, long nanos) {
        if (nanos > 0) {
            Mono.defer(() -> limiter.pauseAtLeast(key, Duration.ofNanos(nanos)))
                    .subscribe(done -> {}, notTaken -> lost.increment());
        }
    }
}
