package io.github.reactorratelimit.webflux.boot;

import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;

/**
 * Closes the limits when the application stops: after the server, which lets its last requests finish, and before the
 * application's own connections to Redis. An application that is only stopped, for a checkpoint or to be started again, closes
 * its connections to Redis and opens them when it starts; local limits keep their state.
 */
final class RateLimitsLifecycle implements SmartLifecycle, ApplicationListener<ContextClosedEvent> {

    /** Lower than that of Boot's servers, higher than that of Spring Data's connection factories, which is 0. */
    static final int PHASE = 1_000;

    private final RateLimits limits;
    private final ApplicationContext context;
    private volatile Disposable logging = Disposables.disposed();
    private volatile boolean running;
    private volatile boolean suspended;
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
        logging.dispose();
        suspended = !ending;
        Mono<Void> closed = ending ? limits.close() : limits.suspend();
        closed.doFinally(end -> callback.run()).subscribe();
    }
}
