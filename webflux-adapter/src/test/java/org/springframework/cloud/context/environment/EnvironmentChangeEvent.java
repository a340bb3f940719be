package org.springframework.cloud.context.environment;

import org.springframework.context.ApplicationEvent;

/** Stands for the event of Spring Cloud, which is known by its name only. */
public final class EnvironmentChangeEvent extends ApplicationEvent {

    public EnvironmentChangeEvent(Object source) {
        super(source);
    }
}
