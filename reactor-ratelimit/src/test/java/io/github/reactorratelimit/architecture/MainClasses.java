package io.github.reactorratelimit.architecture;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.github.reactorratelimit.RateLimiter;

/** The library's own classes, as the compiler left them: those beside {@link RateLimiter}, and none of the tests. */
final class MainClasses {

    static final String BASE = RateLimiter.class.getPackageName();
    static final JavaModifier PUBLIC = JavaModifier.PUBLIC;

    /** Read once: it takes longer than all checks of it. */
    static final JavaClasses ALL = new ClassFileImporter()
            .importUrl(RateLimiter.class.getProtectionDomain().getCodeSource().getLocation());

    private MainClasses() {}
}
