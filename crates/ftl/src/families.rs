//! The families behind the kinds of FTLs: the library's own families, and the families that a program registers.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use base::fault::Faults;
use flash::nand::Geometry;

use crate::block::BlockFamily;
use crate::family::{Config, Family, Setup, Site};
use crate::hydra::HydraFamily;
use crate::kind::FtlKind;
use crate::log_block::{LogBlockFamily, Policy};
use crate::own::NAMES;
use crate::page::PageFamily;
use crate::registry::RegisterError;
use crate::simple::{SimpleFamily, SimpleFtl};
use crate::slc_mlc::SlcMlcFamily;
use crate::spec::FtlSpec;
use crate::zns::ZnsFamily;

/// The families that the program has registered, by name.
static OWN: RwLock<BTreeMap<String, &'static dyn Family>> = RwLock::new(BTreeMap::new());

impl FtlKind {
    /// The checks and resolution of descriptions for this kind of FTL.
    #[must_use]
    pub fn family(self) -> &'static dyn Family {
        match self {
            Self::Page => &PageFamily,
            Self::Hydra => &HydraFamily,
            Self::Bast => &LogBlockFamily(Policy::Bast),
            Self::Fast => &LogBlockFamily(Policy::Fast),
            Self::Chang => &SlcMlcFamily,
            Self::Block => &BlockFamily,
            Self::Zns => &ZnsFamily,
            Self::Own(own) => OWN
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .get(own.name())
                .copied()
                .unwrap_or(&UnregisteredFamily),
        }
    }

    /// Tables `[ftl]` for tests that run on every family; empty if the tests have devices made for it.
    #[must_use]
    pub fn samples(self) -> Vec<FtlSpec> {
        self.family().samples()
    }

    /// The configuration of this kind's FTL, for a description without faults.
    #[must_use]
    pub fn config(self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config> {
        self.family().config(site, setup)
    }
}

/// Stands for a family whose name the program has not registered: the check of `ftl.kind` reports the name.
struct UnregisteredFamily;

impl Family for UnregisteredFamily {
    fn geometry(&self, _: &Site<'_>, _: &mut Faults) -> Option<Geometry> {
        None
    }

    fn units(&self, _: &Site<'_>, _: &Geometry, _: &mut Faults) -> Option<u32> {
        None
    }

    fn config(&self, _: &Site<'_>, _: Setup) -> Arc<dyn Config> {
        unreachable!("a description with a fault has no configuration")
    }
}

/// Registers a family of FTLs under a name, which descriptions of drives then use: `kind = "own:NAME"`.
///
/// The version is a part of the key of each result: change it whenever the FTL changes, so that a store of results does
/// not mix results of the two. A registration lasts as long as the program. A second family with a registered name and
/// version is ignored.
///
/// # Errors
///
/// If a family of another version has the name.
pub fn register_ftl(
    name: impl Into<String>,
    version: impl Into<String>,
    family: impl Family + 'static,
) -> Result<(), RegisterError> {
    let name = name.into();
    NAMES.register(name.clone(), version.into(), ())?;
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    own.entry(name).or_insert_with(|| Box::leak(Box::new(family)));
    Ok(())
}

/// Registers a [`SimpleFtl`] as [`register_ftl`] does.
///
/// # Errors
/// If an FTL of another version has the name.
pub fn register_simple_ftl<F: SimpleFtl>(
    name: impl Into<String>,
    version: impl Into<String>,
) -> Result<(), RegisterError> {
    register_ftl(name, version, SimpleFamily::<F>::new())
}
