package io.github.reactorratelimit.webflux.boot;

import org.springframework.context.SmartLifecycle;
import reactor.core.Disposable;
import reactor.core.Disposables;

/**
 * Closes the limits in Redis and their connections when the application stops, and opens them when it starts again, for
 * example after a checkpoint. It stops after the server, which lets its last requests finish, and before the application's
 * connections to Redis. Limits in this process keep their state until the application ends.
 */
final class RateLimitsLifecycle implements SmartLifecycle {

    /** Lower than that of Boot's servers, higher than that of Spring Data's connection factories, which is 0. */
    static final int PHASE = 1_000;

    private final RateLimits limits;
    private volatile Disposable logging = Disposables.disposed();
    private volatile boolean running;
    private volatile boolean suspended;

    RateLimitsLifecycle(RateLimits limits) {
        this.limits = limits;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    @Override
    public void start() {
        if (suspended) {
            suspended = false;
            limits.resume();
        }
        running = true;
        logging.dispose();
        logging = limits.logOverriddenPolicies();
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public void stop() {
        stop(() -> {});
    }

    @Override
    public void stop(Runnable callback) {
        running = false;
        suspended = true;
        logging.dispose();
        limits.suspend().doFinally(end -> callback.run()).subscribe();
    }
}
