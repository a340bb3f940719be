package io.github.reactorratelimit.architecture;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.github.reactorratelimit.RateLimiter;

/** The library's own classes, as the compiler left them. */
final class MainClasses {

    static final String BASE = RateLimiter.class.getPackageName();
    static final JavaModifier PUBLIC = JavaModifier.PUBLIC;

    /** Read once: it takes longer than all checks of it. */
    static final JavaClasses ALL = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages(BASE);

    private MainClasses() {}
}
