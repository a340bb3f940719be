package io.github.reactorratelimit.redis;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.LoggerFactory;

/** What the store says in the log about one limiter. */
final class LogLines implements AutoCloseable {

    private final Logger logger = (Logger) LoggerFactory.getLogger(RedisStore.class);
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            lines.add(event.getLevel() + " " + event.getFormattedMessage());
        }
    };
    private final Level level = logger.getLevel();
    private final String limiter;

    private LogLines(String limiter) {
        this.limiter = limiter;
        logger.setLevel(Level.INFO);
        appender.start();
        logger.addAppender(appender);
    }

    static LogLines about(String limiter) {
        return new LogLines(limiter);
    }

    List<String> all() {
        return containing("");
    }

    List<String> containing(String text) {
        return lines.stream()
                .filter(line -> line.contains(limiter) && line.contains(text))
                .toList();
    }

    @Override
    public void close() {
        logger.detachAppender(appender);
        logger.setLevel(level);
    }
}
