package io.github.reactorratelimit.webflux.boot;

import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * Closes the limits when the application ends: after the server, which lets its last requests finish, and before the connections to Redis. An
 * application that is only stopped, to be started again, keeps them: a limiter that was closed stays closed.
 */
final class RateLimitsLifecycle implements SmartLifecycle, ApplicationListener<ContextClosedEvent> {

    /** Lower than that of Boot's servers, higher than that of Spring Data's connection factories, which is 0. */
    static final int PHASE = 1_000;

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    private final RateLimits limits;
    private final ApplicationContext context;
    private volatile Disposable telling = Disposables.disposed();
    private volatile boolean running;
    private volatile boolean ending;

    RateLimitsLifecycle(RateLimits limits, ApplicationContext context) {
        this.limits = limits;
        this.context = context;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    @Override
    public void start() {
        running = true;
        telling.dispose();
        telling = limits.tellWhatRules();
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    /** Comes before {@link #stop(Runnable)}; those of child contexts come here too. */
    @Override
    public void onApplicationEvent(ContextClosedEvent event) {
        if (event.getApplicationContext() == context) {
            ending = true;
        }
    }

    @Override
    public void stop() {
        stop(() -> {});
    }

    @Override
    public void stop(Runnable callback) {
        running = false;
        telling.dispose();
        if (!ending) {
            callback.run();
            return;
        }
        SharedStore shared = limits.shared();
        Mono<Void> store = shared == null ? Mono.empty() : Mono.defer(shared::close);
        limits.close()
                .onErrorResume(RateLimitsLifecycle::logged)
                .then(store)
                .onErrorResume(RateLimitsLifecycle::logged)
                .doFinally(end -> callback.run())
                .subscribe();
    }

    private static Mono<Void> logged(Throwable error) {
        LOG.warn("Not everything could be closed when the application ended", error);
        return Mono.empty();
    }
}
