//! Where `AgpuKernels` lies, and how it is loaded.

use std::path::{Path, PathBuf};

use amdgpu_abi::library::{LibraryError, NativeLibrary};
use amdgpu_abi::{MathTable, PACKAGE_VERSION, environment, library};

use crate::Error;
use crate::julia::api::{Api, julia_literal};
use crate::table::Table;

/// The module's file below a library folder.
const SOURCE: &str = "julia/src/AgpuKernels.jl";

/// The module's file: in a library folder, or in the checkout when running under cargo.
pub(crate) fn find_sources() -> Result<PathBuf, Error> {
    let checkout = environment::read("CARGO_MANIFEST_DIR")
        .map(|manifest| Path::new(&manifest).join("../..").join(SOURCE));
    let found = library::find(SOURCE);
    // A chosen folder wins; the checkout wins over its own build output.
    if environment::read(environment::LIBRARY_PATH).is_none()
        && let Some(checkout) = checkout.filter(|path| path.is_file())
    {
        return Ok(checkout);
    }
    Ok(found?)
}

/// Address of the Matrix core's matrix multiplication, which the dense layers of `AgpuKernels` call.
///
/// # Errors
///
/// `library-missing` or `library-stale` when the Matrix core's library is not there or of another version.
pub fn matmul_address() -> Result<usize, Error> {
    const SYMBOL: &str = "agpu_matrix_matmul";
    let library = NativeLibrary::open("matrix")?;
    let function = library
        .symbol(SYMBOL)
        .ok_or_else(|| library.lacks(SYMBOL))?;
    Ok(function.expose_provenance())
}

/// Load the module from `source`, hand it the Matrix core's matrix multiplication, and check the table it gives.
pub(crate) fn load_table(api: &Api, source: &Path) -> Result<Table, Error> {
    let matmul = matmul_address()?;
    let path = source.to_str().ok_or_else(|| LibraryError::Unreadable {
        path: source.display().to_string(),
        reason: "its path is not UTF-8".to_owned(),
    })?;
    let unloadable = |error: Error| {
        Error::Library(LibraryError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    };
    api.evaluate(&format!(
        "Base.include(Main, {}); nothing",
        julia_literal(path)
    ))
    .map_err(unloadable)?;
    let version = api
        .evaluate("Main.AgpuKernels.PACKAGE_VERSION")
        .map_err(unloadable)?;
    if version != PACKAGE_VERSION {
        return Err(Error::Stale {
            path: source.to_owned(),
            reason: format!("it belongs to amdgpu {version}, this is {PACKAGE_VERSION}"),
        });
    }
    let address = api
        .evaluate(&format!(
            "Main.AgpuKernels.use_matmul(Ptr{{Cvoid}}({matmul})); UInt(Main.AgpuKernels.table())"
        ))
        .map_err(unloadable)?;
    let address: usize = address.parse().map_err(|_| {
        unloadable(Error::Foreign {
            message: format!("table() gave {address:?}, not an address"),
        })
    })?;
    let table = std::ptr::with_exposed_provenance::<MathTable>(address);
    // SAFETY: the address of a table that Julia keeps as a module constant.
    unsafe { Table::check(table, source) }
}
